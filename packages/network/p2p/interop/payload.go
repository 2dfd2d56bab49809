package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"
)

// A payload version is the number of the SSZ form, 1 to 4; gossip topic N-1 carries version N.
const newestVersion = 4

// The size of the fixed part of each version (docs/protocol/03-p2p.md#ssz-encodings).
var fixedSize = [newestVersion + 1]int{0, 508, 512, 528, 560}

// payload is a block as it crosses the network, together with the beacon root that versions 3 and 4 put in front of it.
type payload struct {
	Version           int
	ParentBeaconRoot  common.Hash
	ParentHash        common.Hash
	FeeRecipient      common.Address
	StateRoot         common.Hash
	ReceiptsRoot      common.Hash
	LogsBloom         types.Bloom
	PrevRandao        common.Hash
	Number            uint64
	GasLimit          uint64
	GasUsed           uint64
	Timestamp         uint64
	ExtraData         []byte
	BaseFeePerGas     *big.Int
	BlockHash         common.Hash
	Transactions      [][]byte
	HasWithdrawalList bool
	WithdrawalCount   int
	BlobGasUsed       uint64
	ExcessBlobGas     uint64
	WithdrawalsRoot   common.Hash
}

// encode writes the body of a message: the beacon root from version 3 on, then the SSZ container.
func (p *payload) encode() []byte {
	var out []byte
	if p.Version >= 3 {
		out = append(out, p.ParentBeaconRoot[:]...)
	}
	fixed := fixedSize[p.Version]
	u32 := binary.LittleEndian.AppendUint32
	u64 := binary.LittleEndian.AppendUint64
	out = append(out, p.ParentHash[:]...)
	out = append(out, p.FeeRecipient[:]...)
	out = append(out, p.StateRoot[:]...)
	out = append(out, p.ReceiptsRoot[:]...)
	out = append(out, p.LogsBloom[:]...)
	out = append(out, p.PrevRandao[:]...)
	out = u64(out, p.Number)
	out = u64(out, p.GasLimit)
	out = u64(out, p.GasUsed)
	out = u64(out, p.Timestamp)
	out = u32(out, uint32(fixed))
	fee := p.BaseFeePerGas.FillBytes(make([]byte, 32))
	slices.Reverse(fee)
	out = append(out, fee...)
	out = append(out, p.BlockHash[:]...)
	txsAt := fixed + len(p.ExtraData)
	out = u32(out, uint32(txsAt))
	txsSize := 0
	for _, tx := range p.Transactions {
		txsSize += 4 + len(tx)
	}
	if p.Version >= 2 {
		out = u32(out, uint32(txsAt+txsSize))
	}
	if p.Version >= 3 {
		out = u64(out, p.BlobGasUsed)
		out = u64(out, p.ExcessBlobGas)
	}
	if p.Version >= 4 {
		out = append(out, p.WithdrawalsRoot[:]...)
	}
	out = append(out, p.ExtraData...)
	at := 4 * len(p.Transactions)
	for _, tx := range p.Transactions {
		out = u32(out, uint32(at))
		at += len(tx)
	}
	for _, tx := range p.Transactions {
		out = append(out, tx...)
	}
	return out
}

var errTruncated = errors.New("the payload ends within its fixed part")

// decodeBody reads what encode writes. It accepts any list of withdrawals that the format allows; the rules judge it later.
func decodeBody(version int, body []byte) (*payload, error) {
	p := &payload{Version: version}
	if version >= 3 {
		if len(body) < 32 {
			return nil, errTruncated
		}
		copy(p.ParentBeaconRoot[:], body)
		body = body[32:]
	}
	fixed := fixedSize[version]
	if len(body) < fixed {
		return nil, errTruncated
	}
	at := 0
	take := func(n int) []byte { at += n; return body[at-n : at] }
	u32 := func() uint64 { return uint64(binary.LittleEndian.Uint32(take(4))) }
	u64 := func() uint64 { return binary.LittleEndian.Uint64(take(8)) }
	copy(p.ParentHash[:], take(32))
	copy(p.FeeRecipient[:], take(20))
	copy(p.StateRoot[:], take(32))
	copy(p.ReceiptsRoot[:], take(32))
	copy(p.LogsBloom[:], take(256))
	copy(p.PrevRandao[:], take(32))
	p.Number, p.GasLimit, p.GasUsed, p.Timestamp = u64(), u64(), u64(), u64()
	extraAt := u32()
	fee := slices.Clone(take(32))
	slices.Reverse(fee)
	p.BaseFeePerGas = new(big.Int).SetBytes(fee)
	copy(p.BlockHash[:], take(32))
	txsAt, end := u32(), uint64(len(body))
	withdrawalsAt := end
	if version >= 2 {
		withdrawalsAt = u32()
		p.HasWithdrawalList = true
	}
	if version >= 3 {
		p.BlobGasUsed, p.ExcessBlobGas = u64(), u64()
	}
	if version >= 4 {
		copy(p.WithdrawalsRoot[:], take(32))
	}
	if extraAt != uint64(fixed) || txsAt < extraAt || withdrawalsAt < txsAt || withdrawalsAt > end {
		return nil, fmt.Errorf("offsets %d, %d, %d of %d bytes are out of order", extraAt, txsAt, withdrawalsAt, end)
	}
	if txsAt-extraAt > 32 {
		return nil, fmt.Errorf("extraData has %d bytes", txsAt-extraAt)
	}
	p.ExtraData = body[extraAt:txsAt]
	if (end-withdrawalsAt)%44 != 0 || end-withdrawalsAt > 16*44 {
		return nil, fmt.Errorf("withdrawals take %d bytes", end-withdrawalsAt)
	}
	p.WithdrawalCount = int(end-withdrawalsAt) / 44
	var err error
	p.Transactions, err = decodeTransactions(body[txsAt:withdrawalsAt])
	return p, err
}

func decodeTransactions(list []byte) ([][]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) < 4 {
		return nil, errors.New("the transaction list ends within its first offset")
	}
	first := binary.LittleEndian.Uint32(list)
	if first == 0 || first%4 != 0 || first > uint32(len(list)) || first/4 > 1<<20 {
		return nil, fmt.Errorf("first transaction offset %d of %d bytes", first, len(list))
	}
	count := int(first / 4)
	txs := make([][]byte, count)
	from := first
	for i := range count {
		to := uint32(len(list))
		if i+1 < count {
			to = binary.LittleEndian.Uint32(list[4*(i+1):])
		}
		if to < from || to > uint32(len(list)) {
			return nil, fmt.Errorf("transaction %d ends at offset %d", i, to)
		}
		txs[i] = list[from:to]
		from = to
	}
	return txs, nil
}

// rawList gives transactions to the trie as they are: DeriveSha needs nothing but their encodings.
type rawList [][]byte

func (l rawList) Len() int                           { return len(l) }
func (l rawList) EncodeIndex(i int, w *bytes.Buffer) { w.Write(l[i]) }

// hash computes the block hash from the payload's fields (docs/protocol/01-execution.md).
func (p *payload) hash() common.Hash {
	header := types.Header{
		ParentHash:  p.ParentHash,
		UncleHash:   types.EmptyUncleHash,
		Coinbase:    p.FeeRecipient,
		Root:        p.StateRoot,
		TxHash:      transactionsRoot(p.Transactions),
		ReceiptHash: p.ReceiptsRoot,
		Bloom:       p.LogsBloom,
		Difficulty:  new(big.Int),
		Number:      new(big.Int).SetUint64(p.Number),
		GasLimit:    p.GasLimit,
		GasUsed:     p.GasUsed,
		Time:        p.Timestamp,
		Extra:       p.ExtraData,
		MixDigest:   p.PrevRandao,
		BaseFee:     p.BaseFeePerGas,
	}
	if p.Version >= 2 {
		root := types.EmptyWithdrawalsHash
		if p.Version >= 4 {
			root = p.WithdrawalsRoot
		}
		header.WithdrawalsHash = &root
	}
	if p.Version >= 3 {
		header.BlobGasUsed, header.ExcessBlobGas = &p.BlobGasUsed, &p.ExcessBlobGas
		header.ParentBeaconRoot = &p.ParentBeaconRoot
	}
	if p.Version >= 4 {
		none := common.Hash(sha256.Sum256(nil))
		header.RequestsHash = &none
	}
	return header.Hash()
}

func transactionsRoot(txs [][]byte) common.Hash {
	return types.DeriveSha(rawList(txs), trie.NewStackTrie(nil))
}
