package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/forkid"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/protocols/eth"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/enr"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
)

const requestLimit = 10 * time.Second

// served is a block that peers may ask for, with the RLP of its parts.
type served struct {
	Header   hexutil.Bytes `json:"header"`
	Body     hexutil.Bytes `json:"body"`
	Receipts hexutil.Bytes `json:"receipts"`
}

// session is one connected peer.
type session struct {
	peer    *p2p.Peer
	rw      p2p.MsgReadWriter
	version uint
	status  map[string]any
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan any
}

type node struct {
	network uint64
	config  *params.ChainConfig
	genesis *types.Header
	head    *types.Header
	out     *output
	filter  forkid.Filter

	mu     sync.Mutex
	peers  map[string]*session
	blocks map[uint64]served
	hashes map[common.Hash]uint64
	pool   map[common.Hash]*types.Transaction
}

func newNode(network uint64, config *params.ChainConfig, genesis, head *types.Header, out *output) *node {
	n := &node{network: network, config: config, genesis: genesis, head: head, out: out}
	n.peers, n.blocks = map[string]*session{}, map[uint64]served{}
	n.hashes, n.pool = map[common.Hash]uint64{}, map[common.Hash]*types.Transaction{}
	n.filter = forkid.NewFilter(n)
	return n
}

// The three methods that the filter for fork ids needs of a chain.
func (n *node) Config() *params.ChainConfig  { return n.config }
func (n *node) Genesis() *types.Block        { return types.NewBlockWithHeader(n.genesis) }
func (n *node) CurrentHeader() *types.Header { return n.head }

func (n *node) forkID() forkid.ID {
	return forkid.NewID(n.config, n.Genesis(), n.head.Number.Uint64(), n.head.Time)
}

func (n *node) protocols(versions []string, candidates enode.Iterator) []p2p.Protocol {
	lengths := map[string]uint64{"68": 17, "69": 18}
	numbers := map[string]uint{"68": eth.ETH68, "69": eth.ETH69}
	var protocols []p2p.Protocol
	for _, text := range versions {
		version := numbers[text]
		protocols = append(protocols, p2p.Protocol{
			Name: eth.ProtocolName, Version: version, Length: lengths[text], DialCandidates: candidates,
			Attributes: []enr.Entry{ethEntry{ForkID: n.forkID()}},
			Run:        func(peer *p2p.Peer, rw p2p.MsgReadWriter) error { return n.run(peer, rw, version) },
		})
	}
	return protocols
}

func (n *node) run(peer *p2p.Peer, rw p2p.MsgReadWriter, version uint) error {
	s := &session{peer: peer, rw: rw, version: version, waiting: map[uint64]chan any{}}
	sent := make(chan error, 1)
	go func() { sent <- n.sendStatus(s) }()
	if err := n.readStatus(s); err != nil {
		return err
	}
	if err := <-sent; err != nil {
		return err
	}
	id := fmt.Sprintf("%x", peer.Node().ID().Bytes())
	n.mu.Lock()
	n.peers[id] = s
	n.mu.Unlock()
	n.out.lines <- map[string]any{"event": "connected", "peer": id, "name": peer.Fullname(), "version": version, "status": s.status}
	err := n.handle(s)
	n.mu.Lock()
	delete(n.peers, id)
	n.mu.Unlock()
	n.out.lines <- map[string]any{"event": "disconnected", "peer": id, "reason": err.Error()}
	return err
}

func (n *node) sendStatus(s *session) error {
	if s.version == eth.ETH68 {
		return p2p.Send(s.rw, eth.StatusMsg, &eth.StatusPacket68{
			ProtocolVersion: uint32(s.version), NetworkID: n.network, TD: common.Big0, Head: n.head.Hash(), Genesis: n.genesis.Hash(), ForkID: n.forkID(),
		})
	}
	return p2p.Send(s.rw, eth.StatusMsg, &eth.StatusPacket69{
		ProtocolVersion: uint32(s.version), NetworkID: n.network, Genesis: n.genesis.Hash(), ForkID: n.forkID(),
		LatestBlock: n.head.Number.Uint64(), LatestBlockHash: n.head.Hash(),
	})
}

func (n *node) readStatus(s *session) error {
	msg, err := s.rw.ReadMsg()
	if err != nil {
		return err
	}
	if msg.Code != eth.StatusMsg {
		return fmt.Errorf("message %d before the status", msg.Code)
	}
	var forkID forkid.ID
	var network uint64
	var genesis common.Hash
	if s.version == eth.ETH68 {
		var status eth.StatusPacket68
		if err := msg.Decode(&status); err != nil {
			return err
		}
		forkID, network, genesis = status.ForkID, status.NetworkID, status.Genesis
		s.status = map[string]any{"head": status.Head}
	} else {
		var status eth.StatusPacket69
		if err := msg.Decode(&status); err != nil {
			return err
		}
		forkID, network, genesis = status.ForkID, status.NetworkID, status.Genesis
		s.status = map[string]any{"head": status.LatestBlockHash, "latest": status.LatestBlock, "earliest": status.EarliestBlock}
	}
	if network != n.network || genesis != n.genesis.Hash() {
		return errors.New("another chain")
	}
	return n.filter(forkID)
}

func (n *node) handle(s *session) error {
	for {
		msg, err := s.rw.ReadMsg()
		if err != nil {
			return err
		}
		if err := n.take(s, msg); err != nil {
			return err
		}
		if err := msg.Discard(); err != nil {
			return err
		}
	}
}

func (n *node) take(s *session, msg p2p.Msg) error {
	switch msg.Code {
	case eth.GetBlockHeadersMsg:
		var request eth.GetBlockHeadersPacket
		if err := msg.Decode(&request); err != nil {
			return err
		}
		return p2p.Send(s.rw, eth.BlockHeadersMsg, &eth.BlockHeadersRLPPacket{RequestId: request.RequestId, BlockHeadersRLPResponse: n.headers(request.GetBlockHeadersRequest)})
	case eth.GetBlockBodiesMsg:
		var request eth.GetBlockBodiesPacket
		if err := msg.Decode(&request); err != nil {
			return err
		}
		bodies := n.each(request.GetBlockBodiesRequest, func(b served) []byte { return b.Body })
		return p2p.Send(s.rw, eth.BlockBodiesMsg, &eth.BlockBodiesRLPPacket{RequestId: request.RequestId, BlockBodiesRLPResponse: bodies})
	case eth.GetReceiptsMsg:
		var request eth.GetReceiptsPacket
		if err := msg.Decode(&request); err != nil {
			return err
		}
		receipts := n.each(request.GetReceiptsRequest, func(b served) []byte { return b.Receipts })
		return p2p.Send(s.rw, eth.ReceiptsMsg, &eth.ReceiptsRLPPacket{RequestId: request.RequestId, ReceiptsRLPResponse: receipts})
	case eth.GetPooledTransactionsMsg:
		var request eth.GetPooledTransactionsPacket
		if err := msg.Decode(&request); err != nil {
			return err
		}
		var found []*types.Transaction
		n.mu.Lock()
		for _, hash := range request.GetPooledTransactionsRequest {
			if tx := n.pool[hash]; tx != nil {
				found = append(found, tx)
			}
		}
		n.mu.Unlock()
		return p2p.Send(s.rw, eth.PooledTransactionsMsg, &eth.PooledTransactionsPacket{RequestId: request.RequestId, PooledTransactionsResponse: found})
	case eth.BlockHeadersMsg:
		var answer eth.BlockHeadersPacket
		if err := msg.Decode(&answer); err != nil {
			return err
		}
		var hashes []common.Hash
		for _, header := range answer.BlockHeadersRequest {
			hashes = append(hashes, header.Hash())
		}
		s.settle(answer.RequestId, hashes)
	case eth.BlockBodiesMsg:
		var answer eth.BlockBodiesPacket
		if err := msg.Decode(&answer); err != nil {
			return err
		}
		var bodies []map[string]any
		for _, body := range answer.BlockBodiesResponse {
			var hashes []common.Hash
			for _, tx := range body.Transactions {
				hashes = append(hashes, tx.Hash())
			}
			bodies = append(bodies, map[string]any{"transactions": hashes, "root": types.DeriveSha(types.Transactions(body.Transactions), newHasher())})
		}
		s.settle(answer.RequestId, bodies)
	case eth.ReceiptsMsg:
		return s.takeReceipts(msg)
	case eth.PooledTransactionsMsg:
		var answer eth.PooledTransactionsPacket
		if err := msg.Decode(&answer); err != nil {
			return err
		}
		s.settle(answer.RequestId, hashesOf(answer.PooledTransactionsResponse))
	case eth.NewPooledTransactionHashesMsg:
		var announced eth.NewPooledTransactionHashesPacket
		if err := msg.Decode(&announced); err != nil {
			return err
		}
		n.out.lines <- map[string]any{"event": "announced", "hashes": announced.Hashes, "sizes": announced.Sizes, "types": hexutil.Bytes(announced.Types)}
	case eth.TransactionsMsg:
		var txs eth.TransactionsPacket
		if err := msg.Decode(&txs); err != nil {
			return err
		}
		n.out.lines <- map[string]any{"event": "transactions", "hashes": hashesOf(txs)}
	case eth.BlockRangeUpdateMsg:
		var update eth.BlockRangeUpdatePacket
		if err := msg.Decode(&update); err != nil {
			return err
		}
		n.out.lines <- map[string]any{"event": "range", "latest": update.LatestBlock}
	default:
		return fmt.Errorf("unexpected message %d", msg.Code)
	}
	return nil
}

func (s *session) takeReceipts(msg p2p.Msg) error {
	var roots []common.Hash
	if s.version == eth.ETH68 {
		var answer eth.ReceiptsPacket[*eth.ReceiptList68]
		if err := msg.Decode(&answer); err != nil {
			return err
		}
		for _, list := range answer.List {
			roots = append(roots, types.DeriveSha(list, newHasher()))
		}
		s.settle(answer.RequestId, roots)
		return nil
	}
	var answer eth.ReceiptsPacket[*eth.ReceiptList69]
	if err := msg.Decode(&answer); err != nil {
		return err
	}
	for _, list := range answer.List {
		roots = append(roots, types.DeriveSha(list, newHasher()))
	}
	s.settle(answer.RequestId, roots)
	return nil
}

func hashesOf(txs []*types.Transaction) []common.Hash {
	hashes := []common.Hash{}
	for _, tx := range txs {
		hashes = append(hashes, tx.Hash())
	}
	return hashes
}

func (n *node) each(hashes []common.Hash, part func(served) []byte) (found []rlp.RawValue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, hash := range hashes {
		number, ok := n.hashes[hash]
		if !ok {
			break
		}
		found = append(found, part(n.blocks[number]))
	}
	return found
}

func (n *node) headers(request *eth.GetBlockHeadersRequest) (found []rlp.RawValue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, ok := request.Origin.Number, true
	if request.Origin.Hash != (common.Hash{}) {
		number, ok = n.hashes[request.Origin.Hash]
	}
	for ok && uint64(len(found)) < request.Amount {
		block, there := n.blocks[number]
		if !there {
			break
		}
		found = append(found, rlp.RawValue(block.Header))
		if request.Reverse {
			if number < request.Skip+1 {
				break
			}
			number -= request.Skip + 1
		} else {
			number += request.Skip + 1
		}
	}
	return found
}

func (s *session) settle(id uint64, value any) {
	s.mu.Lock()
	waiting := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if waiting != nil {
		waiting <- value
	}
}

func (s *session) ask(code uint64, packet func(id uint64) any) (any, error) {
	s.mu.Lock()
	s.next++
	id := s.next
	answer := make(chan any, 1)
	s.waiting[id] = answer
	s.mu.Unlock()
	if err := p2p.Send(s.rw, code, packet(id)); err != nil {
		return nil, err
	}
	select {
	case value := <-answer:
		return value, nil
	case <-time.After(requestLimit):
		return nil, errors.New("no answer")
	}
}

// do carries out a command.
func (n *node) do(server *p2p.Server, c command) (any, error) {
	n.mu.Lock()
	s := n.peers[c.Peer]
	n.mu.Unlock()
	switch c.Do {
	case "dial":
		peer, err := enode.Parse(enode.ValidSchemes, c.Enode)
		if err != nil {
			return nil, err
		}
		server.AddPeer(peer)
		return true, nil
	case "serve":
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, block := range c.Blocks {
			var header types.Header
			if err := rlp.DecodeBytes(block.Header, &header); err != nil {
				return nil, err
			}
			n.blocks[header.Number.Uint64()] = block
			n.hashes[header.Hash()] = header.Number.Uint64()
		}
		return len(n.blocks), nil
	case "peers":
		var ids []string
		n.mu.Lock()
		defer n.mu.Unlock()
		for id := range n.peers {
			ids = append(ids, id)
		}
		return ids, nil
	case "announce":
		return n.announce(c)
	}
	if s == nil {
		return nil, errors.New("no such peer")
	}
	switch c.Do {
	case "headers":
		request := &eth.GetBlockHeadersRequest{Amount: c.Limit, Skip: c.Skip, Reverse: c.Reverse}
		if c.Hash != nil {
			request.Origin.Hash = *c.Hash
		} else {
			request.Origin.Number = *c.Number
		}
		return s.ask(eth.GetBlockHeadersMsg, func(id uint64) any {
			return &eth.GetBlockHeadersPacket{RequestId: id, GetBlockHeadersRequest: request}
		})
	case "bodies":
		return s.ask(eth.GetBlockBodiesMsg, func(id uint64) any {
			return &eth.GetBlockBodiesPacket{RequestId: id, GetBlockBodiesRequest: c.Hashes}
		})
	case "receipts":
		return s.ask(eth.GetReceiptsMsg, func(id uint64) any {
			return &eth.GetReceiptsPacket{RequestId: id, GetReceiptsRequest: c.Hashes}
		})
	case "pooled":
		return s.ask(eth.GetPooledTransactionsMsg, func(id uint64) any {
			return &eth.GetPooledTransactionsPacket{RequestId: id, GetPooledTransactionsRequest: c.Hashes}
		})
	case "send":
		txs, err := decode(c.Txs)
		if err != nil {
			return nil, err
		}
		return true, p2p.Send(s.rw, eth.TransactionsMsg, eth.TransactionsPacket(txs))
	}
	return nil, fmt.Errorf("unknown command %q", c.Do)
}

func decode(raw []hexutil.Bytes) ([]*types.Transaction, error) {
	var txs []*types.Transaction
	for _, encoded := range raw {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(encoded); err != nil {
			return nil, err
		}
		txs = append(txs, tx)
	}
	return txs, nil
}

// announce takes transactions into the pool and tells all peers of them.
func (n *node) announce(c command) (any, error) {
	txs, err := decode(c.Txs)
	if err != nil {
		return nil, err
	}
	var packet eth.NewPooledTransactionHashesPacket
	n.mu.Lock()
	for i, tx := range txs {
		n.pool[tx.Hash()] = tx
		packet.Types = append(packet.Types, tx.Type())
		packet.Sizes = append(packet.Sizes, uint32(len(c.Txs[i])))
		packet.Hashes = append(packet.Hashes, tx.Hash())
	}
	var sessions []*session
	for _, s := range n.peers {
		sessions = append(sessions, s)
	}
	n.mu.Unlock()
	for _, s := range sessions {
		if err := p2p.Send(s.rw, eth.NewPooledTransactionHashesMsg, packet); err != nil {
			return nil, err
		}
	}
	return len(sessions), nil
}
