package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/libp2p/go-libp2p/core/peer"
)

type peerID = peer.ID

// block is a payload in JSON, in the words of the Engine API.
type block struct {
	Version               int             `json:"version"`
	ParentBeaconBlockRoot common.Hash     `json:"parentBeaconBlockRoot"`
	ParentHash            common.Hash     `json:"parentHash"`
	FeeRecipient          common.Address  `json:"feeRecipient"`
	StateRoot             common.Hash     `json:"stateRoot"`
	ReceiptsRoot          common.Hash     `json:"receiptsRoot"`
	LogsBloom             hexutil.Bytes   `json:"logsBloom"`
	PrevRandao            common.Hash     `json:"prevRandao"`
	BlockNumber           hexutil.Uint64  `json:"blockNumber"`
	GasLimit              hexutil.Uint64  `json:"gasLimit"`
	GasUsed               hexutil.Uint64  `json:"gasUsed"`
	Timestamp             hexutil.Uint64  `json:"timestamp"`
	ExtraData             hexutil.Bytes   `json:"extraData"`
	BaseFeePerGas         *hexutil.Big    `json:"baseFeePerGas"`
	BlockHash             common.Hash     `json:"blockHash"`
	Transactions          []hexutil.Bytes `json:"transactions"`
	BlobGasUsed           hexutil.Uint64  `json:"blobGasUsed"`
	ExcessBlobGas         hexutil.Uint64  `json:"excessBlobGas"`
	WithdrawalsRoot       common.Hash     `json:"withdrawalsRoot"`
}

func blockOf(p *payload) *block {
	b := &block{
		Version: p.Version, ParentBeaconBlockRoot: p.ParentBeaconRoot, ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient,
		StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot, LogsBloom: p.LogsBloom[:], PrevRandao: p.PrevRandao,
		BlockNumber: hexutil.Uint64(p.Number), GasLimit: hexutil.Uint64(p.GasLimit), GasUsed: hexutil.Uint64(p.GasUsed),
		Timestamp: hexutil.Uint64(p.Timestamp), ExtraData: p.ExtraData, BaseFeePerGas: (*hexutil.Big)(p.BaseFeePerGas), BlockHash: p.BlockHash,
		Transactions: []hexutil.Bytes{}, BlobGasUsed: hexutil.Uint64(p.BlobGasUsed), ExcessBlobGas: hexutil.Uint64(p.ExcessBlobGas),
		WithdrawalsRoot: p.WithdrawalsRoot,
	}
	for _, tx := range p.Transactions {
		b.Transactions = append(b.Transactions, tx)
	}
	return b
}

// payload computes the block hash; what the block says of it is not read.
func (b *block) payload() (*payload, error) {
	if b == nil || b.Version < 1 || b.Version > newestVersion {
		return nil, fmt.Errorf("the command needs a block of version 1 to %d", newestVersion)
	}
	p := &payload{
		Version: b.Version, ParentBeaconRoot: b.ParentBeaconBlockRoot, ParentHash: b.ParentHash, FeeRecipient: b.FeeRecipient,
		StateRoot: b.StateRoot, ReceiptsRoot: b.ReceiptsRoot, LogsBloom: types.BytesToBloom(b.LogsBloom), PrevRandao: b.PrevRandao,
		Number: uint64(b.BlockNumber), GasLimit: uint64(b.GasLimit), GasUsed: uint64(b.GasUsed), Timestamp: uint64(b.Timestamp),
		ExtraData: b.ExtraData, BaseFeePerGas: new(big.Int), BlobGasUsed: uint64(b.BlobGasUsed), ExcessBlobGas: uint64(b.ExcessBlobGas),
		WithdrawalsRoot: b.WithdrawalsRoot, HasWithdrawalList: b.Version >= 2,
	}
	if b.BaseFeePerGas != nil {
		p.BaseFeePerGas = b.BaseFeePerGas.ToInt()
	}
	for _, tx := range b.Transactions {
		p.Transactions = append(p.Transactions, tx)
	}
	p.BlockHash = p.hash()
	return p, nil
}

type session struct {
	node      *node
	mesh      *gossip
	served    *blocks
	discovery *discovery
	measured  *measurements
}

const defaultTimeout = 10 * time.Second

func (s *session) run(ctx context.Context, c command) (any, error) {
	timeout := defaultTimeout
	if c.TimeoutMs > 0 {
		timeout = time.Duration(c.TimeoutMs) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch c.Command {
	case "connect":
		info, err := peer.AddrInfoFromString(c.Address)
		if err != nil {
			return nil, err
		}
		return nil, s.node.host.Connect(ctx, *info)
	case "peers":
		return s.node.peers(s.mesh), nil
	case "signer":
		for _, v := range s.mesh.validators[1:] {
			v.mu.Lock()
			v.signer = common.HexToAddress(c.Signer)
			v.mu.Unlock()
		}
		return nil, nil
	case "publish", "store":
		p, err := c.Block.payload()
		if err != nil {
			return nil, err
		}
		if c.Command == "store" {
			s.served.add(p)
			return blockOf(p), nil
		}
		return blockOf(p), s.mesh.publish(ctx, p)
	case "asked":
		return s.served.takeAsked(), nil
	case "request":
		return s.request(ctx, c)
	case "find":
		if s.discovery == nil {
			return nil, fmt.Errorf("discovery is off: start with --discovery")
		}
		return s.discovery.find(ctx, c.Peer)
	case "prepare":
		return nil, s.measured.prepare(s.node.key, c.Number, c.Count, c.Size)
	case "send":
		return s.measured.send(ctx, s.mesh, c.Number, c.Count)
	case "arrived":
		return s.measured.arrived(ctx, c.Number, c.Count)
	case "validate":
		return s.measured.validate(c.Number, c.Count, s.mesh.validators[newestVersion].signer)
	case "usage":
		return usage()
	case "crowd":
		return nil, s.measured.crowd(c.Address, c.Count)
	default:
		return nil, fmt.Errorf("unknown command %q", c.Command)
	}
}

func (s *session) request(ctx context.Context, c command) (any, error) {
	from, err := peer.Decode(c.Peer)
	if err != nil {
		return nil, err
	}
	got, err := request(ctx, s.node, from, c.Number, c.Slash)
	if err != nil {
		return nil, err
	}
	result := map[string]any{"protocol": got.Protocol, "result": got.Result}
	if got.Result != resultSuccess {
		return result, nil
	}
	version, err := versionOf(got)
	if err != nil {
		return nil, err
	}
	p, err := decodeBody(version, got.Body)
	if err != nil {
		return nil, err
	}
	if hash := p.hash(); hash != p.BlockHash {
		return nil, fmt.Errorf("blockHash is %s, not %s", p.BlockHash, hash)
	}
	result["version"], result["block"] = got.Version, blockOf(p)
	return result, nil
}

// versionOf finds the payload's version, which an answer does not say in full, by the first offset: the size of the fixed part.
func versionOf(got *answer) (int, error) {
	at, lowest, highest := 436, 1, 2
	if got.Version == 1 {
		at, lowest, highest = 32+436, 3, newestVersion
	}
	if got.Version > 1 || len(got.Body) < at+4 {
		return 0, fmt.Errorf("version %d with %d bytes", got.Version, len(got.Body))
	}
	offset := int(binary.LittleEndian.Uint32(got.Body[at:]))
	for version := lowest; version <= highest; version++ {
		if fixedSize[version] == offset {
			return version, nil
		}
	}
	return 0, fmt.Errorf("version %d with a first offset of %d", got.Version, offset)
}
