package main

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"math/rand"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/golang/snappy"
	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	benchTransactionBytes = 200
	// The gossip that carries the measured blocks.
	benchVersion = newestVersion
)

// measurements are of blocks that were made and signed beforehand. Times are nanoseconds of the system's monotonic clock, which all
// processes of a machine share.
type measurements struct {
	chainID  uint64
	mu       sync.Mutex
	prepared map[uint64]signedPayload
	times    map[uint64]int64
	changed  chan struct{}
	others   []*node
}

type signedPayload struct {
	payload   *payload
	signature []byte
}

func newMeasurements(chainID uint64) *measurements {
	return &measurements{chainID: chainID, prepared: map[uint64]signedPayload{}, times: map[uint64]int64{}, changed: make(chan struct{})}
}

// prepare makes count blocks from a number on, with size bytes of transactions that do not compress.
func (m *measurements) prepare(key *ecdsa.PrivateKey, from uint64, count, size int) error {
	clear(m.prepared)
	random := rand.New(rand.NewSource(int64(from)))
	for number := from; number < from+uint64(count); number++ {
		p := &payload{
			Version: benchVersion, Number: number, Timestamp: uint64(time.Now().Unix()), BaseFeePerGas: big.NewInt(1e9),
			GasLimit: 60_000_000, HasWithdrawalList: true, ExtraData: make([]byte, 17),
		}
		for made := 0; made < size; made += benchTransactionBytes {
			tx := make([]byte, min(benchTransactionBytes, size-made))
			random.Read(tx)
			p.Transactions = append(p.Transactions, tx)
		}
		p.BlockHash = p.hash()
		hash := signingHash(m.chainID, p.encode())
		signature, err := crypto.Sign(hash[:], key)
		if err != nil {
			return err
		}
		m.prepared[number] = signedPayload{p, signature}
	}
	return nil
}

// send publishes prepared blocks one after the other and returns when each was begun.
func (m *measurements) send(ctx context.Context, g *gossip, from uint64, count int) ([]int64, error) {
	times := make([]int64, 0, count)
	for number := from; number < from+uint64(count); number++ {
		p, ok := m.prepared[number]
		if !ok {
			return nil, fmt.Errorf("block %d was not prepared", number)
		}
		times = append(times, monotonicNs())
		message := snappy.Encode(nil, append(p.signature[:65:65], p.payload.encode()...))
		if err := g.topics[benchVersion].Publish(ctx, message); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func (m *measurements) received(p *payload) {
	now := monotonicNs()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times[p.Number] = now
	close(m.changed)
	m.changed = make(chan struct{})
}

// arrived waits for blocks and returns when each came.
func (m *measurements) arrived(ctx context.Context, from uint64, count int) ([]int64, error) {
	for {
		m.mu.Lock()
		times := make([]int64, 0, count)
		for number := from; number < from+uint64(count); number++ {
			if at, ok := m.times[number]; ok {
				times = append(times, at)
			}
		}
		changed := m.changed
		m.mu.Unlock()
		if len(times) == count {
			return times, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d blocks arrived", len(times), count)
		}
	}
}

// validate applies all rules to prepared blocks, without a network, and returns nanoseconds for all.
func (m *measurements) validate(from uint64, count int, signer common.Address) (int64, error) {
	messages := make([][]byte, 0, count)
	for number := from; number < from+uint64(count); number++ {
		p := m.prepared[number]
		messages = append(messages, snappy.Encode(nil, append(p.signature[:65:65], p.payload.encode()...)))
	}
	v := &validator{chainID: m.chainID, version: benchVersion, threshold: time.Hour, signer: signer, seen: map[uint64][]common.Hash{}}
	began := monotonicNs()
	for _, message := range messages {
		if _, err := v.check(message); err != nil {
			return 0, err
		}
	}
	return monotonicNs() - began, nil
}

// crowd connects peers of their own identity to an address, and has them subscribe to all topics.
func (m *measurements) crowd(address string, count int) error {
	info, err := peer.AddrInfoFromString(address)
	if err != nil {
		return err
	}
	for range count {
		key, err := crypto.GenerateKey()
		if err != nil {
			return err
		}
		n, err := newNode(m.chainID, key, "127.0.0.1", []string{"yamux"})
		if err != nil {
			return err
		}
		m.others = append(m.others, n)
		ignore := func(*payload, peerID) {}
		if _, err := joinGossip(context.Background(), n, common.Address{}, time.Minute, validatedAtATime, ignore, func(int, peerID, error) {}); err != nil {
			return err
		}
		if err := n.host.Connect(context.Background(), *info); err != nil {
			return err
		}
	}
	return nil
}

type usageReport struct {
	// own memory (no files)
	OwnBytes int64 `json:"ownBytes"`
	CPUNs    int64 `json:"cpuNs"`
}
