package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/params"
)

const (
	// From Amsterdam on, one slot in this many has no payload, and in another one the builder replaces the head by a sibling of it.
	troublePeriod = 20
	emptyAt       = 7
	siblingAt     = 13
	// Blocks behind the head.
	finalDistance = 4
	// The background of a payload takes its transactions in this time.
	buildTime = 300 * time.Millisecond
)

// counts says what the chain went through since the fork.
type counts struct {
	EmptySlots int `json:"emptySlots"`
	Siblings   int `json:"siblings"`
}

// beacon is a consensus client with one validator, which uses the Engine API's methods without a socket.
type beacon struct {
	backend     *eth.Ethereum
	engine      *catalyst.ConsensusAPI
	config      *params.ChainConfig
	genesisTime uint64
	slotTime    uint64
	// of the canonical chain, by number
	chain []common.Hash

	lock   sync.Mutex
	counts counts
	// by slot, in the order of the block's commitments
	blobs map[uint64][]blob
}

type blob struct {
	hash common.Hash
	data hexutil.Bytes
}

func newBeacon(backend *eth.Ethereum, config *params.ChainConfig, slotTime uint64) (*beacon, error) {
	genesis := backend.BlockChain().Genesis()
	b := &beacon{
		backend:     backend,
		engine:      catalyst.NewConsensusAPI(backend),
		config:      config,
		genesisTime: genesis.Time(),
		slotTime:    slotTime,
		chain:       []common.Hash{genesis.Hash()},
		blobs:       make(map[uint64][]blob),
	}
	_, err := b.engine.ForkchoiceUpdatedV3(context.Background(), b.forkchoice(), nil)
	return b, err
}

func (b *beacon) counted() counts {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.counts
}

func (b *beacon) count(more counts) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.counts.EmptySlots += more.EmptySlots
	b.counts.Siblings += more.Siblings
}

// run makes a block in each slot, unless the slot is empty. It does not return.
func (b *beacon) run() {
	for slot := uint64(1); ; slot++ {
		at := b.genesisTime + slot*b.slotTime
		time.Sleep(time.Until(time.Unix(int64(at), 0)))
		if err := b.makeBlock(slot, at); err != nil {
			log.Error("No block in this slot", "slot", slot, "err", err)
		}
	}
}

func (b *beacon) makeBlock(slot, timestamp uint64) error {
	isAmsterdam := b.config.IsAmsterdam(common.Big1, timestamp)
	if isAmsterdam {
		switch ((timestamp - *b.config.AmsterdamTime) / b.slotTime) % troublePeriod {
		case emptyAt:
			b.count(counts{EmptySlots: 1})
			return nil
		case siblingAt:
			b.count(counts{Siblings: 1})
			b.chain = b.chain[:len(b.chain)-1]
		}
	}
	envelope, err := b.build(slot, timestamp, isAmsterdam)
	if err != nil {
		return err
	}
	payload := *envelope.ExecutionPayload
	commitments := envelope.BlobsBundle.Commitments
	hashes := make([]common.Hash, len(commitments))
	blobs := make([]blob, len(commitments))
	for i, commitment := range commitments {
		hashes[i] = versionedHash(commitment)
		blobs[i] = blob{hash: hashes[i], data: envelope.BlobsBundle.Blobs[i]}
	}
	requests := make([]hexutil.Bytes, len(envelope.Requests))
	for i, request := range envelope.Requests {
		requests[i] = request
	}
	newPayload := b.engine.NewPayloadV4
	if isAmsterdam {
		newPayload = b.engine.NewPayloadV5
	}
	status, err := newPayload(context.Background(), payload, hashes, beaconRoot(slot), requests)
	if err != nil || status.Status != engine.VALID {
		return fmt.Errorf("its own payload is %s: %v", status.Status, err)
	}
	b.lock.Lock()
	b.blobs[slot] = blobs
	b.lock.Unlock()
	b.chain = append(b.chain, payload.BlockHash)
	return b.update(nil, isAmsterdam, nil)
}

// build asks for a payload on the last block of the chain, which is no longer the engine's head when that is to be replaced.
func (b *beacon) build(slot, timestamp uint64, isAmsterdam bool) (*engine.ExecutionPayloadEnvelope, error) {
	attributes := &engine.PayloadAttributes{
		Timestamp:             timestamp,
		Random:                *beaconRoot(slot << 32),
		SuggestedFeeRecipient: common.HexToAddress("0xfee"),
		Withdrawals:           []*types.Withdrawal{},
		BeaconRoot:            beaconRoot(slot),
	}
	getPayload := b.engine.GetPayloadV5
	if isAmsterdam {
		target := uint64(gasLimit)
		attributes.SlotNumber, attributes.TargetGasLimit = &slot, &target
		getPayload = b.engine.GetPayloadV6
	}
	var id engine.PayloadID
	if err := b.update(attributes, isAmsterdam, &id); err != nil {
		return nil, err
	}
	time.Sleep(buildTime)
	return getPayload(id)
}

func (b *beacon) update(attributes *engine.PayloadAttributes, isAmsterdam bool, id *engine.PayloadID) error {
	var response engine.ForkChoiceResponse
	var err error
	if isAmsterdam {
		response, err = b.engine.ForkchoiceUpdatedV4(context.Background(), b.forkchoice(), attributes, nil)
	} else {
		response, err = b.engine.ForkchoiceUpdatedV3(context.Background(), b.forkchoice(), attributes)
	}
	if err != nil || response.PayloadStatus.Status != engine.VALID {
		return fmt.Errorf("forkchoice update: %s: %v", response.PayloadStatus.Status, err)
	}
	if id != nil {
		if response.PayloadID == nil {
			return fmt.Errorf("no payload is being built")
		}
		*id = *response.PayloadID
	}
	return nil
}

// forkchoice calls the parent of the head safe, as the fast-confirmation rule does.
func (b *beacon) forkchoice() engine.ForkchoiceStateV1 {
	behind := func(blocks int) common.Hash { return b.chain[max(0, len(b.chain)-1-blocks)] }
	return engine.ForkchoiceStateV1{
		HeadBlockHash: behind(0), SafeBlockHash: behind(1), FinalizedBlockHash: behind(finalDistance),
	}
}

func versionedHash(commitment []byte) common.Hash {
	return kzg4844.CalcBlobHashV1(sha256.New(), (*kzg4844.Commitment)(commitment))
}

func beaconRoot(slot uint64) *common.Hash {
	root := common.Hash{1}
	for i := range 8 {
		root[31-i] = byte(slot >> (8 * i))
	}
	return &root
}
