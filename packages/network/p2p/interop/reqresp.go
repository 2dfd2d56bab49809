package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/golang/snappy"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Result codes of payload_by_number (docs/protocol/03-p2p.md#request-response-payload-by-number).
const (
	resultSuccess     = 0
	resultUnavailable = 1
	resultInvalid     = 2
)

const streamTimeout = 10 * time.Second

// Without the slash it is op-node's form, with it the specification's.
func requestProtocols(chainID uint64) []protocol.ID {
	form := fmt.Sprintf("/opstack/req/payload_by_number/%d/0", chainID)
	return []protocol.ID{protocol.ID(form), protocol.ID(form + "/")}
}

// blocks are those that this node serves.
type blocks struct {
	mu       sync.Mutex
	byNumber map[uint64]*payload
	asked    []uint64
}

func (b *blocks) add(p *payload) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byNumber[p.Number] = p
}

func (b *blocks) takeAsked() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := append([]uint64{}, b.asked...)
	b.asked = nil
	return asked
}

// The number on the wire: a payload alone, or the envelope of Ecotone and of every fork since.
func responseVersion(p *payload) uint32 {
	if p.Version < 3 {
		return 0
	}
	return 1
}

func (b *blocks) serve(n *node) {
	handle := func(stream network.Stream) {
		defer stream.Close()
		stream.SetDeadline(time.Now().Add(streamTimeout))
		var number [8]byte
		if _, err := io.ReadFull(stream, number[:]); err != nil {
			stream.Write([]byte{resultInvalid})
			return
		}
		wanted := binary.LittleEndian.Uint64(number[:])
		b.mu.Lock()
		b.asked = append(b.asked, wanted)
		p := b.byNumber[wanted]
		b.mu.Unlock()
		if p == nil {
			stream.Write([]byte{resultUnavailable})
			return
		}
		head := binary.LittleEndian.AppendUint32([]byte{resultSuccess}, responseVersion(p))
		stream.Write(head)
		framed := snappy.NewBufferedWriter(stream)
		framed.Write(p.encode())
		framed.Close()
	}
	for _, id := range requestProtocols(n.chainID) {
		n.host.SetStreamHandler(id, handle)
	}
}

type answer struct {
	Protocol string
	Result   byte
	Version  uint32
	Body     []byte
}

// request asks a peer for a block. slash: by the specification's form of the protocol.
func request(ctx context.Context, n *node, from peer.ID, number uint64, slash bool) (*answer, error) {
	id := requestProtocols(n.chainID)[0]
	if slash {
		id = requestProtocols(n.chainID)[1]
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := n.host.NewStream(ctx, from, id)
	if err != nil {
		return nil, err
	}
	defer stream.Reset()
	stream.SetDeadline(time.Now().Add(streamTimeout))
	if _, err := stream.Write(binary.LittleEndian.AppendUint64(nil, number)); err != nil {
		return nil, err
	}
	if err := stream.CloseWrite(); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(stream, maxMessageBytes+1))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the answer is empty")
	}
	out := &answer{Protocol: string(stream.Protocol()), Result: all[0]}
	if out.Result != resultSuccess {
		if len(all) != 1 {
			return nil, fmt.Errorf("result %d is followed by %d bytes", out.Result, len(all)-1)
		}
		return out, nil
	}
	if len(all) < 5 {
		return nil, fmt.Errorf("the answer ends within its version")
	}
	out.Version = binary.LittleEndian.Uint32(all[1:5])
	out.Body, err = io.ReadAll(io.LimitReader(snappy.NewReader(bytes.NewReader(all[5:])), maxMessageBytes+1))
	return out, err
}
