#!/bin/sh
# The certificates of docker-compose.yml. What is there already stays, so that it may
# run at each start.
#
#   setup.sh certificates   a CA and the centre's certificate in /centre, an admin's in /noc, the CA's alone in /ca
#   setup.sh join NODE...   each node joins the centre by a token, which gets it a certificate in /edges/NODE
set -eu
umask 077

certificates() {
  [ -e /centre/pki/ca.key ] || catchment pki init example.net --dir /centre/pki
  [ -e /centre/central.key ] || catchment pki issue central/centre --host centre --host localhost --dir /centre/pki --out /centre/central
  [ -e /noc/noc.key ] || catchment pki issue noc/admin --role admin --dir /centre/pki --out /noc/noc
  cp /centre/pki/ca.pem /noc/ca.pem
  cp /centre/pki/ca.pem /ca/ca.pem
  chmod 755 /ca && chmod 644 /ca/ca.pem
  # The centre's user (deploy/docker/Dockerfile) reads these.
  chown -R 65532:65532 /centre
}

join() {
  for node in "$@"; do
    [ ! -e "/edges/$node/edge.key" ] || continue
    catchment node join-token "$node" --reason 'docker-compose' >/tmp/token
    catchment node join "$node" --token-file /tmp/token --dir "/edges/$node"
  done
}

case "${1:-}" in
certificates) certificates ;;
join)
  shift
  join "$@"
  ;;
*)
  echo "write: setup.sh certificates, or: setup.sh join NODE..." >&2
  exit 2
  ;;
esac
