package store

import (
	"context"
	"encoding/json"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// schemaVersion is the version of the layout of keys and documents that this
// program reads and writes.
const schemaVersion = 1

// schemaKey has a schema. It is outside of the data.
const schemaKey = root + "schema"

// releaseKey is written to when nothing else may be.
const releaseKey = root + "release"

// schema describes what is stored.
type schema struct {
	Version   int      `json:"version"`
	Base      Revision `json:"base"`                // what is added to etcd's revisions
	Restoring bool     `json:"restoring,omitempty"` // a restore has not finished
}

// openSchema reads the schema, or makes it in a store that has none.
func (e *Etcd) openSchema(ctx context.Context) error {
	fresh, err := json.Marshal(schema{Version: schemaVersion})
	if err != nil {
		return err
	}
	call, done := e.call(ctx)
	defer done()
	resp, err := e.client.Txn(call).
		If(clientv3.Compare(clientv3.CreateRevision(schemaKey), "=", 0)).
		Then(clientv3.OpPut(schemaKey, string(fresh))).
		Else(clientv3.OpGet(schemaKey)).Commit()
	if err != nil {
		return e.problem(ctx, err)
	}
	if resp.Succeeded {
		return nil
	}
	var found schema
	kv := resp.Responses[0].GetResponseRange().GetKvs()[0]
	switch err := json.Unmarshal(kv.Value, &found); {
	case err != nil:
		return fmt.Errorf("key %s is not a schema: %w", schemaKey, err)
	case found.Version != schemaVersion:
		return fmt.Errorf("the store has schema version %d and this program knows %d: use the program that wrote it, or restore a backup made before the upgrade",
			found.Version, schemaVersion)
	case found.Restoring:
		return fmt.Errorf("a restore into this store did not finish: delete everything under %s (etcdctl del --prefix %s) and restore again", root, root)
	}
	e.base = found.Base
	return nil
}

// writeSchema replaces the schema.
func (e *Etcd) writeSchema(ctx context.Context, s schema) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	call, done := e.call(ctx)
	defer done()
	if _, err := e.client.Put(call, schemaKey, string(text)); err != nil {
		return e.problem(ctx, err)
	}
	return nil
}
