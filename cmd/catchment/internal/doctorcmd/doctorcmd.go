package doctorcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// Where the configurations are unless --config says otherwise.
const (
	EdgeFile   = "/etc/catchment/edge.yaml"
	CentreFile = "/etc/catchment-central/central.yaml"
)

// Options say what to look at.
type Options struct {
	Env    *cli.Env
	Edge   *node.Client
	Centre *centre.Client
	File   string // of the configuration
	// VRPs and IRR are files or URLs; empty: not looked at.
	VRPs, IRR string
	// EdgeNamed is set where somebody has said where the socket is; else the
	// configuration does.
	EdgeNamed bool
}

// New returns the command `doctor`.
func New(env *cli.Env, client *centre.Client) *cobra.Command {
	o := Options{Env: env, Edge: node.New(), Centre: client}
	isCentre := false
	format := output.Simple(output.Table)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a node or a centre, and say what to mend",
		Long: `doctor looks at the configuration of the node on this machine, the kernel's settings,
addresses and routes, certificates, and the running daemon, and says what is wrong and
what mends it. --vrps and --irr have it look for ROAs and route objects of the
prefixes, too. With --centre it looks at a centre instead. It changes nothing. Run it
as root, or as a user who may read what the daemon reads.

It exits with 0 if no check has failed, else with 1.`,
		Example: "  catchment doctor\n" +
			"  catchment doctor --vrps https://rpki.example.net/vrps.json --irr ripe.db.route.gz\n" +
			"  catchment doctor --centre --config /etc/catchment-central/central.yaml -o json",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.EdgeNamed = cmd.Flags().Changed("edge") || env.Getenv("CATCHMENT_EDGE") != ""
			var all []doctor.Result
			switch {
			case isCentre && (o.VRPs != "" || o.IRR != "" || cmd.Flags().Changed("edge")):
				return exit.Usagef("--vrps, --irr and --edge are of a node: leave them out with --centre")
			case isCentre:
				o.File = cmp.Or(o.File, CentreFile)
				all = Centre(cmd.Context(), o)
			default:
				o.File = cmp.Or(o.File, EdgeFile)
				all = Node(cmd.Context(), o)
			}
			return show(env, format, all)
		},
	}
	f := cmd.Flags()
	o.Edge.Flag(f, env.Getenv)
	f.StringVar(&o.File, "config", "", "configuration `FILE` (left out: "+EdgeFile+", with --centre "+CentreFile+")")
	f.BoolVar(&isCentre, "centre", false, "check the centre on this machine, not a node")
	f.StringVar(&o.VRPs, "vrps", "", "a validator's VRPs: a `FILE` or URL with JSON or CSV, or Routinator's URL that ends in "+perRoute)
	f.StringVar(&o.IRR, "irr", "", "route and route6 objects: a `FILE` or URL with RPSL, also packed by gzip")
	f.VarP(&format, "output", "o", "how to print")
	// They fail for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(output.Table), string(output.JSON)}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// Node looks at the node on this machine, and judges it.
func Node(ctx context.Context, o Options) []doctor.Result {
	l, err := LoadEdge(o.File, o.Env.Getenv)
	n := &doctor.Node{Now: o.Env.Now(), File: o.File, Config: l.Config, Warnings: l.Warnings, Unset: l.Unset, EnvFile: l.EnvFile}
	if err != nil {
		n.Problem = output.Lines(err.Error())
	}
	if l.Config != nil && !o.EdgeNamed {
		o.Edge.Address = "unix:" + l.Config.Control
	}
	var uid string
	n.Daemon, uid = askDaemon(ctx, o.Edge, l)
	n.Daemon.Installed = Installed(ctx, "catchment-edge")
	n.Unit = unitText("catchment-edge.service")
	kernel(n)
	if l.Config == nil {
		return doctor.CheckNode(n)
	}
	who, ok := accountOf(cmp.Or(uid, userOf(n.Unit, "catchment")))
	if !ok { // no such user yet: whoever asks
		who = account{uid: uint32(os.Geteuid())}
	}
	n.User = who.name
	n.Files = map[string]doctor.File{}
	for _, path := range files(l) {
		n.Files[path] = lookAt(path, who)
	}
	if c := l.Config.Central; c != nil && !c.Insecure {
		n.Certs = certs(n.Now, c.TLS.CA, c.TLS.Cert)
	}
	if n.VRPSource = o.VRPs; o.VRPs != "" {
		if n.VRPs, err = readVRPs(ctx, o.VRPs, l.Config); err != nil {
			n.VRPProblem = output.OneLine(err.Error())
		}
	}
	if n.IRRSource = o.IRR; o.IRR != "" {
		if n.Routes, err = readRoutes(ctx, o.IRR, l.Config); err != nil {
			n.IRRProblem = output.OneLine(err.Error())
		}
	}
	return doctor.CheckNode(n)
}

// files are those that the checks ask for.
func files(l *Loaded) []string {
	out := []string{l.Config.StateDir, l.Config.Control}
	for _, b := range l.Config.Neighbors {
		if b.PasswordFile != "" {
			out = append(out, b.PasswordFile)
		}
	}
	if c := l.Config.Central; c != nil && !c.Insecure {
		out = append(out, c.TLS.Key)
	}
	return out
}

// Centre looks at the centre on this machine, and judges it.
func Centre(ctx context.Context, o Options) []doctor.Result {
	return doctor.CheckCentre(gatherCentre(ctx, o.Centre, o.File, o.Env.Now()))
}

func show(env *cli.Env, format output.Simple, all []doctor.Result) error {
	var err error
	if format == output.Simple(output.JSON) {
		err = output.WriteValue(env.Stdout, output.JSON, struct {
			Checks   []doctor.Result `json:"checks"`
			OK       int             `json:"ok"`
			Warnings int             `json:"warnings"`
			Failures int             `json:"failures"`
			Skipped  int             `json:"skipped"`
		}{all, doctor.Count(all, doctor.OK), doctor.Count(all, doctor.Warn), doctor.Count(all, doctor.Fail), doctor.Count(all, doctor.Skip)})
	} else {
		err = Write(env.Stdout, all, env.Coloured())
	}
	switch n := doctor.Count(all, doctor.Fail); {
	case err != nil:
		return fmt.Errorf("the results cannot be written: %w", err)
	case n == 1:
		return fmt.Errorf("1 check has failed")
	case n > 1:
		return fmt.Errorf("%d checks have failed", n)
	}
	return nil
}

var colours = map[doctor.Level]output.Colour{doctor.OK: output.Green, doctor.Warn: output.Yellow, doctor.Fail: output.Red}

// Write writes results for people: what was found, and under it what mends it.
func Write(w io.Writer, all []doctor.Result, coloured bool) error {
	wide := 0
	for _, r := range all {
		wide = max(wide, output.Width(r.Check))
	}
	var out strings.Builder
	for _, r := range all {
		colour := colours[r.Level]
		if !coloured {
			colour = output.Plain
		}
		found := strings.Split(strings.TrimSpace(output.Lines(r.Found)), "\n")
		fmt.Fprintf(&out, "%s  %s  %s\n", colour.Paint(output.Fit(string(r.Level), 4)), output.Fit(r.Check, wide), found[0])
		for _, line := range found[1:] {
			fmt.Fprintf(&out, "%s%s\n", strings.Repeat(" ", wide+8), line)
		}
		if r.Mend != "" {
			fmt.Fprintf(&out, "%s-> %s\n", strings.Repeat(" ", wide+8), output.OneLine(r.Mend))
		}
	}
	fmt.Fprintln(&out, doctor.Summary(all))
	_, err := io.WriteString(w, out.String())
	return err
}
