// Command challenger is op-challenger, with one command more: `super` prints what it claims in a game of super roots.
package main

import (
	"context"
	"fmt"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"
	"github.com/urfave/cli/v2"

	challenger "github.com/ethereum-optimism/optimism/op-challenger"
	"github.com/ethereum-optimism/optimism/op-challenger/flags"
	"github.com/ethereum-optimism/optimism/op-challenger/game/fault/trace/super"
	"github.com/ethereum-optimism/optimism/op-challenger/game/fault/types"
	"github.com/ethereum-optimism/optimism/op-challenger/metrics"
	"github.com/ethereum-optimism/optimism/op-service/cliapp"
	"github.com/ethereum-optimism/optimism/op-service/ctxinterrupt"
	"github.com/ethereum-optimism/optimism/op-service/dial"
	"github.com/ethereum-optimism/optimism/op-service/eth"
	oplog "github.com/ethereum-optimism/optimism/op-service/log"
)

func main() {
	oplog.SetupDefaults()
	app := cli.NewApp()
	app.Flags = cliapp.ProtectFlags(flags.Flags)
	app.Commands = []*cli.Command{{
		Name:   "super",
		Action: printClaims,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node"},
			&cli.Uint64Flag{Name: "l1-head"},
			&cli.Uint64Flag{Name: "from"},
			&cli.Uint64Flag{Name: "to"},
		},
	}}
	app.Action = cliapp.LifecycleCmd(func(ctx *cli.Context, _ context.CancelCauseFunc) (cliapp.Lifecycle, error) {
		logger := oplog.NewLogger(oplog.AppOut(ctx), oplog.ReadCLIConfig(ctx))
		cfg, err := flags.NewConfigFromCLI(ctx, logger)
		if err != nil {
			return nil, err
		}
		return challenger.Main(ctx.Context, logger, cfg, metrics.NewMetrics())
	})
	if err := app.RunContext(ctxinterrupt.WithSignalWaiterMain(context.Background()), os.Args); err != nil {
		log.Crit("op-challenger failed", "err", err)
	}
}

// gameDepth is deep enough for some seconds.
const gameDepth = types.Depth(12)

// printClaims prints, for each step of a game from one L2 time to another, the preimage of op-challenger's claim in hex.
func printClaims(ctx *cli.Context) error {
	node, err := dial.DialSuperNodeClientWithTimeout(ctx.Context, log.Root(), ctx.String("node"))
	if err != nil {
		return err
	}
	defer node.Close()
	from, to := ctx.Uint64("from"), ctx.Uint64("to")
	prestate := super.NewSuperNodePrestateProvider(node, from)
	l1Head := eth.BlockID{Number: ctx.Uint64("l1-head")}
	provider := super.NewSuperNodeTraceProvider(log.Root(), prestate, node, l1Head, gameDepth, from, to)
	for step := uint64(0); step < (to-from)*super.StepsPerTimestamp; step++ {
		claim, err := provider.GetPreimageBytes(ctx.Context, types.NewPosition(gameDepth, new(big.Int).SetUint64(step)))
		if err != nil {
			return err
		}
		fmt.Fprintln(ctx.App.Writer, hexutil.Encode(claim))
	}
	return nil
}
