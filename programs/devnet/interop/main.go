// Command amsterdam-l1 is an L1 of go-ethereum with the Amsterdam fork: its chain, pool and JSON-RPC, a beacon chain that drives it over the
// Engine API's methods (beacon.go), and the beacon API for blobs (beaconapi.go). Commands are lines of JSON on its input; answers are lines of
// JSON on its output.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// gasLimit is the one of networks with Amsterdam.
const gasLimit = 200_000_000

type command struct {
	ID int    `json:"id"`
	Do string `json:"command"`
}

type answer struct {
	ID     int    `json:"id"`
	Result any    `json:"result"`
	Error  string `json:"error,omitempty"`
}

func main() {
	chainID := flag.Uint64("chain-id", 1337, "chain id")
	slot := flag.Uint64("slot", 2, "seconds of a slot")
	amsterdam := flag.Uint64("amsterdam", 0, "seconds from genesis to the fork; 0: it is active at genesis")
	funded := flag.String("funded", "", "addresses with ether, separated by commas")
	verbosity := flag.Int("verbosity", 1, "log level of go-ethereum, 0 to 5")
	flag.Parse()
	log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, log.FromLegacyLevel(*verbosity), false)))

	genesisTime := uint64(time.Now().Unix())
	alloc := core.SystemContractAllocs()
	for address := range strings.SplitSeq(*funded, ",") {
		alloc[common.HexToAddress(address)] = types.Account{Balance: new(big.Int).Mul(big.NewInt(1e6), big.NewInt(params.Ether))}
	}
	config := chainConfig(*chainID, genesisTime+*amsterdam)
	stack, backend, err := startNode(&core.Genesis{
		Config:     config,
		GasLimit:   gasLimit,
		Difficulty: common.Big0,
		BaseFee:    big.NewInt(params.InitialBaseFee),
		Timestamp:  genesisTime,
		Alloc:      alloc,
	})
	must(err)
	defer stack.Close()
	beacon, err := newBeacon(backend, config, *slot)
	must(err)
	beaconURL, err := serveBeaconAPI(beacon)
	must(err)
	go beacon.run()

	encoder := json.NewEncoder(os.Stdout)
	must(encoder.Encode(map[string]any{
		"event": "ready", "url": stack.HTTPEndpoint(), "beacon": beaconURL, "amsterdamTimeSec": *config.AmsterdamTime,
	}))
	reader := bufio.NewReader(os.Stdin)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		must(err)
		var asked command
		must(json.Unmarshal(line, &asked))
		if asked.Do != "counts" {
			must(encoder.Encode(answer{ID: asked.ID, Error: "no such command: " + asked.Do}))
			continue
		}
		must(encoder.Encode(answer{ID: asked.ID, Result: beacon.counted()}))
	}
}

// chainConfig has all forks of mainnet from genesis on, with its blob schedule, and Amsterdam at its time.
func chainConfig(chainID uint64, amsterdamTime uint64) *params.ChainConfig {
	config := *params.AllDevChainProtocolChanges
	zero := uint64(0)
	config.ChainID = new(big.Int).SetUint64(chainID)
	config.BPO1Time, config.BPO2Time = &zero, &zero
	config.AmsterdamTime = &amsterdamTime
	config.BogotaTime = nil
	config.BlobScheduleConfig = &params.BlobScheduleConfig{
		Cancun: params.DefaultCancunBlobConfig,
		Prague: params.DefaultPragueBlobConfig,
		BPO1:   params.DefaultBPO1BlobConfig,
		BPO2:   params.DefaultBPO2BlobConfig,
	}
	return &config
}

// startNode starts go-ethereum without a network, in memory, with JSON-RPC on any free port of this machine.
func startNode(genesis *core.Genesis) (*node.Node, *eth.Ethereum, error) {
	nodeConfig := node.DefaultConfig
	nodeConfig.DataDir = ""
	nodeConfig.P2P = p2p.Config{NoDiscovery: true, NoDial: true, ListenAddr: ""}
	nodeConfig.HTTPHost = "127.0.0.1"
	nodeConfig.HTTPPort = 0
	nodeConfig.HTTPModules = []string{"eth", "net", "web3", "debug", "txpool"}
	stack, err := node.New(&nodeConfig)
	if err != nil {
		return nil, nil, err
	}
	config := ethconfig.Defaults
	config.Genesis = genesis
	config.NetworkId = genesis.Config.ChainID.Uint64()
	config.SyncMode = ethconfig.FullSync
	config.Miner.GasCeil = gasLimit
	config.RPCTxFeeCap = 0
	backend, err := eth.New(stack, &config)
	if err != nil {
		return nil, nil, err
	}
	filterSystem := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(filterSystem)}})
	return stack, backend, stack.Start()
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
