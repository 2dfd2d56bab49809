package main

import (
	"crypto/ecdsa"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/libp2p/go-libp2p"
	mplex "github.com/libp2p/go-libp2p-mplex"
	p2pcrypto "github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"
)

type pubsubProtocol = protocol.ID

// node is a libp2p host under the parameters of docs/protocol/03-p2p.md#identity-and-transport.
type node struct {
	chainID uint64
	key     *ecdsa.PrivateKey
	host    host.Host
}

// newNode listens on a free TCP port of ip. The key is its identity and, in gossip, the sequencer's.
func newNode(chainID uint64, key *ecdsa.PrivateKey, ip string, muxers []string) (*node, error) {
	identity, err := p2pcrypto.UnmarshalSecp256k1PrivateKey(crypto.FromECDSA(key))
	if err != nil {
		return nil, err
	}
	options := []libp2p.Option{
		libp2p.Identity(identity),
		libp2p.ListenAddrStrings("/ip4/" + ip + "/tcp/0"),
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()),
		libp2p.Security(noise.ID, noise.New),
		libp2p.UserAgent("rnode-interop"),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.Ping(true),
	}
	for _, name := range muxers {
		switch name {
		case "yamux":
			options = append(options, libp2p.Muxer(yamux.ID, yamux.DefaultTransport))
		case "mplex":
			options = append(options, libp2p.Muxer(mplex.ID, mplex.DefaultTransport))
		default:
			return nil, fmt.Errorf("no multiplexer %q: yamux and mplex are known", name)
		}
	}
	h, err := libp2p.New(options...)
	if err != nil {
		return nil, err
	}
	return &node{chainID: chainID, key: key, host: h}, nil
}

func (n *node) addresses() []string {
	var out []string
	for _, addr := range n.host.Addrs() {
		out = append(out, fmt.Sprintf("%s/p2p/%s", addr, n.host.ID()))
	}
	return out
}

// endpoint is the address and port on which the host listens.
func (n *node) endpoint() (net.IP, int, error) {
	for _, addr := range n.host.Addrs() {
		ip, err := addr.ValueForProtocol(multiaddr.P_IP4)
		if err != nil {
			continue
		}
		text, err := addr.ValueForProtocol(multiaddr.P_TCP)
		if err != nil {
			continue
		}
		port, err := strconv.Atoi(text)
		return net.ParseIP(ip), port, err
	}
	return nil, 0, fmt.Errorf("the host listens on no IPv4 address: %v", n.host.Addrs())
}

type peerReport struct {
	ID        string   `json:"id"`
	Address   string   `json:"address"`
	Direction string   `json:"direction"`
	Security  string   `json:"security"`
	Muxer     string   `json:"muxer"`
	Agent     string   `json:"agent"`
	Protocols []string `json:"protocols"`
	// the block topics it subscribed to, by payload version
	Subscribed []int `json:"subscribed"`
}

func (n *node) peers(g *gossip) []peerReport {
	out := []peerReport{}
	for _, conn := range n.host.Network().Conns() {
		id := conn.RemotePeer()
		report := peerReport{
			ID:         id.String(),
			Address:    conn.RemoteMultiaddr().String(),
			Direction:  conn.Stat().Direction.String(),
			Security:   string(conn.ConnState().Security),
			Muxer:      string(conn.ConnState().StreamMultiplexer),
			Protocols:  []string{},
			Subscribed: []int{},
		}
		if agent, err := n.host.Peerstore().Get(id, "AgentVersion"); err == nil {
			report.Agent, _ = agent.(string)
		}
		if protocols, err := n.host.Peerstore().GetProtocols(id); err == nil {
			for _, name := range protocols {
				report.Protocols = append(report.Protocols, string(name))
			}
		}
		for version := 1; version <= newestVersion; version++ {
			if slices.Contains(g.topics[version].ListPeers(), id) {
				report.Subscribed = append(report.Subscribed, version)
			}
		}
		out = append(out, report)
	}
	return out
}
