package main

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/ethereum-optimism/optimism/op-node/rollup"
	"github.com/ethereum-optimism/optimism/op-node/rollup/derive"
	"github.com/ethereum-optimism/optimism/op-service/eth"
)

type logFields struct {
	Topics []common.Hash `json:"topics"`
	Data   hexutil.Bytes `json:"data"`
}

// question has the fields of all commands; each reads its own.
type question struct {
	ID      int           `json:"id"`
	Command string        `json:"command"`
	Data    hexutil.Bytes `json:"data"`
	// of a span batch
	ChainID     hexutil.Uint64 `json:"chainId"`
	BlockTime   hexutil.Uint64 `json:"blockTime"`
	GenesisTime hexutil.Uint64 `json:"genesisTime"`
	// of logs: all are of one successful transaction
	Logs      []logFields    `json:"logs"`
	IsEcotone bool           `json:"isEcotone"`
	GasLimit  hexutil.Uint64 `json:"gasLimit"`
	// of L1 attributes: 0 Bedrock, 1 Ecotone, 2 Isthmus, 3 Jovian
	Layout int `json:"layout"`
}

// refused is the answer for bytes that have no effect; the words are for people.
type refused struct {
	Refused string `json:"refused"`
}

var readers = map[string]func(question) any{
	"frames": frames, "batch": batch, "config": config, "deposits": deposits, "attributes": attributes,
}

var emitter = common.HexToAddress("0x1000000000000000000000000000000000000001")

func receiptsOf(q question) []*types.Receipt {
	logs := make([]*types.Log, len(q.Logs))
	for i, l := range q.Logs {
		logs[i] = &types.Log{Address: emitter, Topics: l.Topics, Data: l.Data, Index: uint(i), BlockHash: common.Hash{31: 7}}
	}
	return []*types.Receipt{{Status: types.ReceiptStatusSuccessful, Logs: logs}}
}

func frames(q question) any {
	read, err := derive.ParseFrames(q.Data)
	if err != nil {
		return refused{err.Error()}
	}
	out := make([]any, len(read))
	for i, f := range read {
		out[i] = []any{hexutil.Bytes(f.ID[:]), f.FrameNumber, hexutil.Bytes(f.Data), f.IsLast}
	}
	return out
}

// batch tells a batch that ends its channel (refused) from one that alone is dropped (dropped).
func batch(q question) any {
	var b derive.BatchData
	if err := b.UnmarshalBinary(q.Data); err != nil {
		return refused{err.Error()}
	}
	if b.GetBatchType() == derive.SingularBatchType {
		s, err := derive.GetSingularBatch(&b)
		if err != nil {
			return refused{err.Error()}
		}
		return []any{s.ParentHash, hexutil.Uint64(s.EpochNum), s.EpochHash, hexutil.Uint64(s.Timestamp), append([]hexutil.Bytes{}, s.Transactions...)}
	}
	cfg := &rollup.Config{BlockTime: uint64(q.BlockTime), L2ChainID: new(big.Int).SetUint64(uint64(q.ChainID))}
	cfg.Genesis.L2Time = uint64(q.GenesisTime)
	s, err := derive.DeriveSpanBatch(&b, cfg)
	if err != nil {
		return map[string]string{"dropped": err.Error()}
	}
	blocks := make([]any, s.GetBlockCount())
	for i := range blocks {
		transactions := append([]hexutil.Bytes{}, s.GetBlockTransactions(i)...)
		blocks[i] = []any{hexutil.Uint64(s.GetBlockEpochNum(i)), hexutil.Uint64(s.GetBlockTimestamp(i)), transactions}
	}
	return []any{hexutil.Bytes(s.ParentCheck[:]), hexutil.Bytes(s.L1OriginCheck[:]), blocks}
}

func config(q question) any {
	cfg := &rollup.Config{L1SystemConfigAddress: emitter}
	if q.IsEcotone {
		cfg.EcotoneTime = new(uint64)
	}
	c := eth.SystemConfig{GasLimit: uint64(q.GasLimit)}
	_ = derive.UpdateSystemConfigWithL1Receipts(&c, receiptsOf(q), cfg, 1)
	fee := c.OperatorFee()
	return []any{
		c.BatcherAddr, c.Overhead, c.Scalar, hexutil.Uint64(c.GasLimit), hexutil.Bytes(c.EIP1559Params[:]),
		fee.Scalar, hexutil.Uint64(fee.Constant), hexutil.Uint64(c.MinBaseFee), c.DAFootprintGasScalar,
	}
}

func deposits(q question) any {
	encoded, _ := derive.DeriveDeposits(receiptsOf(q), emitter)
	return encoded
}

func attributes(q question) any {
	from := func(layout int) *uint64 {
		if q.Layout < layout {
			return nil
		}
		return new(uint64)
	}
	cfg := &rollup.Config{BlockTime: 2, EcotoneTime: from(1), IsthmusTime: from(2), JovianTime: from(3)}
	a, err := derive.L1BlockInfoFromBytes(cfg, 1000, q.Data)
	if err != nil {
		return refused{err.Error()}
	}
	blobBaseFee := new(big.Int)
	if a.BlobBaseFee != nil {
		blobBaseFee = a.BlobBaseFee
	}
	return []any{
		hexutil.Uint64(a.Number), hexutil.Uint64(a.Time), (*hexutil.Big)(a.BaseFee), a.BlockHash, hexutil.Uint64(a.SequenceNumber), a.BatcherAddr,
		(*hexutil.Big)(blobBaseFee), a.BaseFeeScalar, a.BlobBaseFeeScalar, a.L1FeeOverhead, a.L1FeeScalar,
		a.OperatorFeeScalar, hexutil.Uint64(a.OperatorFeeConstant), a.DAFootprintGasScalar,
	}
}
