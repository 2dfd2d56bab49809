package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/discover"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/enr"
	"github.com/ethereum/go-ethereum/rlp"
	p2pcrypto "github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// opstackEntry is what a node record says of the chain (docs/protocol/03-p2p.md#discovery).
type opstackEntry struct {
	chainID, version uint64
}

func (opstackEntry) ENRKey() string { return "opstack" }

func (e opstackEntry) EncodeRLP(w io.Writer) error {
	inner := binary.AppendUvarint(nil, e.chainID)
	return rlp.Encode(w, binary.AppendUvarint(inner, e.version))
}

func (e *opstackEntry) DecodeRLP(s *rlp.Stream) error {
	inner, err := s.Bytes()
	if err != nil {
		return err
	}
	chainID, n := binary.Uvarint(inner)
	if n <= 0 {
		return fmt.Errorf("the chain id of opstack entry %x is no uvarint", inner)
	}
	version, m := binary.Uvarint(inner[n:])
	if m <= 0 {
		return fmt.Errorf("the version of opstack entry %x is no uvarint", inner)
	}
	e.chainID, e.version = chainID, version
	return nil
}

type discovery struct {
	chainID uint64
	udp     *discover.UDPv5
	db      *enode.DB
}

// startDiscovery advertises the host's TCP port, and its own UDP port. opstackChain may differ from the node's chain, to be turned away.
func startDiscovery(n *node, opstackChain uint64, bootnodes []string) (*discovery, error) {
	ip, tcpPort, err := n.endpoint()
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: ip})
	if err != nil {
		return nil, err
	}
	db, err := enode.OpenDB("")
	if err != nil {
		return nil, err
	}
	local := enode.NewLocalNode(db, n.key)
	local.SetStaticIP(ip)
	local.SetFallbackUDP(conn.LocalAddr().(*net.UDPAddr).Port)
	local.Set(enr.TCP(tcpPort))
	local.Set(opstackEntry{chainID: opstackChain})
	config := discover.Config{PrivateKey: n.key}
	for _, text := range bootnodes {
		boot, err := enode.Parse(enode.ValidSchemes, text)
		if err != nil {
			return nil, fmt.Errorf("bootnode %s: %w", text, err)
		}
		config.Bootnodes = append(config.Bootnodes, boot)
	}
	udp, err := discover.ListenV5(conn, local, config)
	if err != nil {
		return nil, err
	}
	return &discovery{chainID: n.chainID, udp: udp, db: db}, nil
}

type found struct {
	ENR     string `json:"enr"`
	PeerID  string `json:"peerId"`
	Address string `json:"address"`
	ChainID uint64 `json:"chainId"`
	Version uint64 `json:"version"`
}

// readRecord turns a node record into a libp2p peer; an error says why it is none of this chain.
func (d *discovery) readRecord(record *enode.Node) (*found, error) {
	var entry opstackEntry
	if err := record.Load(&entry); err != nil {
		return nil, err
	}
	if entry.chainID != d.chainID || entry.version != 0 {
		return nil, fmt.Errorf("chain %d, version %d", entry.chainID, entry.version)
	}
	id, err := peerIDOf(record)
	if err != nil {
		return nil, err
	}
	endpoint, ok := record.TCPEndpoint()
	if !ok {
		return nil, fmt.Errorf("the record has no TCP endpoint")
	}
	return &found{ENR: record.String(), PeerID: id.String(), Address: multiaddrOf(endpoint, id), ChainID: entry.chainID, Version: entry.version}, nil
}

func peerIDOf(record *enode.Node) (peer.ID, error) {
	public := record.Pubkey()
	if public == nil {
		return "", fmt.Errorf("the record has no secp256k1 key")
	}
	key, err := p2pcrypto.UnmarshalSecp256k1PublicKey(crypto.CompressPubkey(public))
	if err != nil {
		return "", err
	}
	return peer.IDFromPublicKey(key)
}

func multiaddrOf(endpoint netip.AddrPort, id peer.ID) string {
	family := "ip4"
	if endpoint.Addr().Is6() {
		family = "ip6"
	}
	return fmt.Sprintf("/%s/%s/tcp/%d/p2p/%s", family, endpoint.Addr(), endpoint.Port(), id)
}

// find walks the network until it meets the peer, or ctx ends.
func (d *discovery) find(ctx context.Context, wanted string) (*found, error) {
	iterator := d.udp.RandomNodes()
	go func() {
		<-ctx.Done()
		iterator.Close()
	}()
	var last error
	for iterator.Next() {
		record, err := d.readRecord(iterator.Node())
		if err != nil {
			last = err
			continue
		}
		if record.PeerID == wanted || wanted == "" {
			return record, nil
		}
	}
	return nil, fmt.Errorf("not found; the last record that was turned away: %v", last)
}
