// Command conductor-interop links what the OP Stack's own programs speak with: op-node's conductor client, op-conductor's client and server,
// op-service's signer client. Commands are lines of JSON on its input; answers are lines of JSON on its output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"

	"github.com/ethereum-optimism/optimism/op-service/eth"
)

// commandLimit bounds a command with all its attempts.
const commandLimit = 20 * time.Second

// maxLine is enough for a block of several megabytes in hex.
const maxLine = 64 << 20

type command struct {
	ID int    `json:"id"`
	Do string `json:"command"`
	// of a conductor or a signer
	URL string `json:"url"`
	// of the conductor's API, in words of this program; its arguments
	Call    string `json:"call"`
	Server  string `json:"server"`
	Addr    string `json:"addr"`
	Version uint64 `json:"version"`
	Flag    bool   `json:"flag"`

	Envelope *eth.ExecutionPayloadEnvelope `json:"envelope"`
	// what the conductor here answers
	Stub *stubState `json:"stub"`
	// what a signer is asked for
	Sign signRequest `json:"sign"`
}

type signRequest struct {
	ChainID     uint64         `json:"chainId"`
	PayloadHash common.Hash    `json:"payloadHash"`
	Sender      common.Address `json:"sender"`
	Transaction hexutil.Bytes  `json:"transaction"`
	TLS         *struct {
		CA   string `json:"ca"`
		Cert string `json:"cert"`
		Key  string `json:"key"`
	} `json:"tls"`
}

type answer struct {
	ID     int    `json:"id"`
	Result any    `json:"result"`
	Error  string `json:"error,omitempty"`
}

func main() {
	logger := log.NewLogger(log.DiscardHandler())
	log.SetDefault(logger)
	stub := newStub()
	url, err := serve(logger, stub)
	must(err)
	clients := newNodeClients(logger)
	var writing sync.Mutex
	encoder := json.NewEncoder(os.Stdout)
	say := func(line any) {
		writing.Lock()
		defer writing.Unlock()
		must(encoder.Encode(line))
	}
	say(map[string]string{"event": "ready", "conductor": url})
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		must(err)
		if len(line) > maxLine {
			must(fmt.Errorf("a command of %d bytes", len(line)))
		}
		var asked command
		must(json.Unmarshal(line, &asked))
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
			defer cancel()
			result, err := perform(ctx, logger, asked, stub, clients)
			if err != nil {
				say(answer{ID: asked.ID, Error: err.Error()})
				return
			}
			say(answer{ID: asked.ID, Result: result})
		}()
	}
}

func perform(ctx context.Context, logger log.Logger, asked command, stub *stub, clients *nodeClients) (any, error) {
	switch asked.Do {
	case "node":
		return clients.call(ctx, asked)
	case "api":
		return callAPI(ctx, asked)
	case "sign":
		return sign(ctx, logger, asked)
	case "stub":
		stub.set(*asked.Stub)
		return nil, nil
	case "heard":
		return stub.takeHeard(), nil
	}
	return nil, fmt.Errorf("no such command: %s", asked.Do)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
