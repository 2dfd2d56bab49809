// A node of the OP Stack's P2P network on Go's own libraries, with which ours is compared on the wire. It takes commands as lines of
// JSON and answers in the same way: see README.md.
package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

func main() {
	var o options
	flag.StringVar(&o.mode, "mode", "node", "node: prints each block; bench: only counts them, and takes the commands of bench.go")
	flag.Uint64Var(&o.chainID, "chain", 901, "L2 chain id")
	flag.StringVar(&o.ip, "ip", "127.0.0.1", "address to listen on")
	flag.StringVar(&o.key, "key", "", "32 bytes in hexadecimal: identity and sequencer's key; empty: a new one")
	flag.StringVar(&o.signer, "signer", "", "address whose blocks are accepted; empty: that of the key")
	flag.StringVar(&o.muxers, "muxers", "yamux,mplex", "multiplexers in order of preference")
	flag.BoolVar(&o.discovery, "discovery", false, "take part in discv5")
	flag.Uint64Var(&o.opstackChain, "opstack-chain", 0, "chain id in the node record; 0: that of --chain")
	flag.StringVar(&o.bootnodes, "bootnodes", "", "enr: or enode:// texts, separated by commas")
	flag.DurationVar(&o.threshold, "timestamp-threshold", 60*time.Second, "how old a block may be")
	flag.Parse()
	if err := runNode(o); err != nil {
		fmt.Fprintln(os.Stderr, "p2p-interop:", err)
		os.Exit(1)
	}
}

type options struct {
	mode, ip, key, signer, muxers, bootnodes string
	chainID, opstackChain                    uint64
	discovery                                bool
	threshold                                time.Duration
}

// lines writes events and answers, one JSON object a line.
type lines struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (l *lines) write(value any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.encoder.Encode(value)
}

type command struct {
	ID        int    `json:"id"`
	Command   string `json:"command"`
	Address   string `json:"address"`
	Peer      string `json:"peer"`
	Number    uint64 `json:"number"`
	Slash     bool   `json:"slash"`
	Signer    string `json:"signer"`
	TimeoutMs int    `json:"timeoutMs"`
	Block     *block `json:"block"`
	Size      int    `json:"size"`
	Count     int    `json:"count"`
}

func runNode(o options) error {
	if o.mode != "node" && o.mode != "bench" {
		return fmt.Errorf("no mode %q: node and bench are known", o.mode)
	}
	if o.mode == "bench" && !canMeasure {
		return fmt.Errorf("--mode=bench works on Linux only")
	}
	if err := checkSamples(); err != nil {
		return err
	}
	key, err := privateKey(o.key)
	if err != nil {
		return err
	}
	n, err := newNode(o.chainID, key, o.ip, strings.Split(o.muxers, ","))
	if err != nil {
		return err
	}
	defer n.host.Close()
	out := &lines{encoder: json.NewEncoder(os.Stdout)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	measured := newMeasurements(o.chainID)
	signer := crypto.PubkeyToAddress(key.PublicKey)
	if o.signer != "" {
		signer = common.HexToAddress(o.signer)
	}
	atATime := validatedAtATime
	if o.mode == "bench" {
		atATime = benchValidatedAtATime
	}
	mesh, err := joinGossip(ctx, n, signer, o.threshold, atATime,
		func(p *payload, from peerID) {
			if o.mode == "bench" {
				measured.received(p)
				return
			}
			out.write(map[string]any{"event": "block", "from": from.String(), "block": blockOf(p)})
		},
		func(version int, from peerID, err error) {
			out.write(map[string]any{"event": "refused", "from": from.String(), "version": version, "reason": err.Error()})
		})
	if err != nil {
		return err
	}
	served := &blocks{byNumber: map[uint64]*payload{}}
	served.serve(n)
	ready := map[string]any{
		"event": "ready", "peerId": n.host.ID().String(), "addresses": n.addresses(),
		"sequencer": crypto.PubkeyToAddress(key.PublicKey).Hex(),
	}
	var disc *discovery
	if o.discovery {
		chain := o.opstackChain
		if chain == 0 {
			chain = o.chainID
		}
		var bootnodes []string
		if o.bootnodes != "" {
			bootnodes = strings.Split(o.bootnodes, ",")
		}
		if disc, err = startDiscovery(n, chain, bootnodes); err != nil {
			return err
		}
		defer disc.udp.Close()
		ready["enr"], ready["enode"] = disc.udp.Self().String(), disc.udp.Self().URLv4()
	}
	out.write(ready)

	session := &session{node: n, mesh: mesh, served: served, discovery: disc, measured: measured}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(make([]byte, 1<<16), 32<<20)
	for input.Scan() {
		var c command
		if err := json.Unmarshal(input.Bytes(), &c); err != nil {
			return fmt.Errorf("a command is no JSON object: %w", err)
		}
		go func() {
			result, err := session.run(ctx, c)
			if err != nil {
				out.write(map[string]any{"id": c.ID, "error": err.Error()})
			} else {
				out.write(map[string]any{"id": c.ID, "result": result})
			}
		}()
	}
	return input.Err()
}

func privateKey(text string) (*ecdsa.PrivateKey, error) {
	if text == "" {
		return crypto.GenerateKey()
	}
	return crypto.HexToECDSA(strings.TrimPrefix(text, "0x"))
}
