// Command devp2p-interop is a node on go-ethereum's packages that ours is compared with: it serves what it is given, asks for what it is
// told to, and prints what comes back. Commands are lines of JSON on its input; answers and events are lines of JSON on its output.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/forkid"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

// ethEntry is what a node's record says of its chain.
type ethEntry struct {
	ForkID forkid.ID
	Rest   []rlp.RawValue `rlp:"tail"`
}

func (ethEntry) ENRKey() string { return "eth" }

type command struct {
	ID      int             `json:"id"`
	Do      string          `json:"command"`
	Enode   string          `json:"enode"`
	Peer    string          `json:"peer"`
	Number  *uint64         `json:"number"`
	Hash    *common.Hash    `json:"hash"`
	Limit   uint64          `json:"limit"`
	Skip    uint64          `json:"skip"`
	Reverse bool            `json:"reverse"`
	Hashes  []common.Hash   `json:"hashes"`
	Txs     []hexutil.Bytes `json:"txs"`
	Blocks  []served        `json:"blocks"`
}

type output struct {
	encoder *json.Encoder
	lines   chan any
}

func (o *output) run() {
	for line := range o.lines {
		if err := o.encoder.Encode(line); err != nil {
			os.Exit(1)
		}
	}
}

func main() {
	keyHex := flag.String("key", "", "private key")
	network := flag.Uint64("network", 1, "network id")
	configJSON := flag.String("config", "{}", "chain configuration")
	genesisHex := flag.String("genesis", "", "RLP of the genesis header")
	headHex := flag.String("head", "", "RLP of the head's header")
	versions := flag.String("versions", "69,68", "versions of eth")
	discover := flag.String("discovery", "", "v4, v5 or both")
	bootnodes := flag.String("bootnodes", "", "enode or enr texts")
	verbose := flag.Bool("verbose", false, "log to standard error")
	flag.Parse()
	if *verbose {
		log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelDebug, false)))
	}
	key, err := crypto.HexToECDSA(*keyHex)
	must(err)
	var config params.ChainConfig
	must(json.Unmarshal([]byte(*configJSON), &config))
	genesis, head := headerOf(*genesisHex), headerOf(*headHex)
	out := &output{encoder: json.NewEncoder(os.Stdout), lines: make(chan any, 64)}
	go out.run()
	node := newNode(*network, &config, genesis, head, out)
	mix := enode.NewFairMix(0)
	server := &p2p.Server{Config: p2p.Config{
		PrivateKey:  key,
		MaxPeers:    10,
		Name:        "interop",
		ListenAddr:  "127.0.0.1:0",
		DiscAddr:    "127.0.0.1:0",
		DiscoveryV4: strings.Contains(*discover, "v4"),
		DiscoveryV5: strings.Contains(*discover, "v5"),
		NoDiscovery: *discover == "",
		Protocols:   node.protocols(strings.Split(*versions, ","), mix),
		Logger:      log.Root(),
	}}
	for _, text := range strings.Split(*bootnodes, ",") {
		if text == "" {
			continue
		}
		boot, err := enode.Parse(enode.ValidSchemes, text)
		must(err)
		server.BootstrapNodes = append(server.BootstrapNodes, boot)
		server.BootstrapNodesV5 = append(server.BootstrapNodesV5, boot)
	}
	must(server.Start())
	defer server.Stop()
	isOurs := func(n *enode.Node) bool {
		var entry ethEntry
		return n.Load(&entry) == nil && node.filter(entry.ForkID) == nil
	}
	if v4 := server.DiscoveryV4(); v4 != nil {
		mix.AddSource(enode.Filter(v4.RandomNodes(), func(n *enode.Node) bool {
			record, err := v4.RequestENR(n)
			return err == nil && isOurs(record)
		}))
	}
	if v5 := server.DiscoveryV5(); v5 != nil {
		mix.AddSource(enode.Filter(v5.RandomNodes(), isOurs))
	}
	forkID := node.forkID()
	out.lines <- map[string]any{
		"event": "ready", "enode": server.Self().URLv4(), "enr": server.Self().String(), "forkId": hexutil.Bytes(forkID.Hash[:]), "forkNext": forkID.Next,
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(make([]byte, 1<<16), 1<<28)
	for input.Scan() {
		var c command
		must(json.Unmarshal(input.Bytes(), &c))
		go func() {
			result, err := node.do(server, c)
			if err != nil {
				out.lines <- map[string]any{"id": c.ID, "error": err.Error()}
				return
			}
			out.lines <- map[string]any{"id": c.ID, "result": result}
		}()
	}
}

func headerOf(text string) *types.Header {
	raw, err := hexutil.Decode(text)
	must(err)
	header := new(types.Header)
	must(rlp.DecodeBytes(raw, header))
	return header
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
