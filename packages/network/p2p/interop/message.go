package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/golang/snappy"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	maxMessageBytes = 10 << 20
	minMessageBytes = 66
	signatureBytes  = 65
)

func topicOf(chainID uint64, version int) string {
	return fmt.Sprintf("/optimism/%d/%d/blocks", chainID, version-1)
}

// messageID is the Altair-style id (docs/protocol/03-p2p.md#message-id).
func messageID(msg *pb.Message) string {
	domain, data := [4]byte{}, msg.Data
	if size, err := snappy.DecodedLen(msg.Data); err == nil && size <= maxMessageBytes {
		if plain, err := snappy.Decode(nil, msg.Data); err == nil {
			domain, data = [4]byte{1}, plain
		}
	}
	h := sha256.New()
	h.Write(domain[:])
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(msg.GetTopic())))
	h.Write(length[:])
	h.Write([]byte(msg.GetTopic()))
	h.Write(data)
	return string(h.Sum(nil)[:20])
}

func signingHash(chainID uint64, body []byte) common.Hash {
	var words [96]byte // domain (zero), chain id, payload hash
	binary.BigEndian.PutUint64(words[56:64], chainID)
	copy(words[64:], crypto.Keccak256(body))
	return crypto.Keccak256Hash(words[:])
}

// seal makes a gossip message of a payload: signature and body, in snappy's block form.
func seal(chainID uint64, key *ecdsa.PrivateKey, p *payload) ([]byte, error) {
	body := p.encode()
	hash := signingHash(chainID, body)
	signature, err := crypto.Sign(hash[:], key)
	if err != nil {
		return nil, err
	}
	return snappy.Encode(nil, append(signature, body...)), nil
}

// errIgnore marks a message that is neither good nor its sender's fault.
var errIgnore = errors.New("ignore")

// validator applies the rules of docs/protocol/03-p2p.md#validation-order-and-verdict, in their order.
type validator struct {
	chainID   uint64
	version   int
	threshold time.Duration

	mu     sync.Mutex
	signer common.Address
	seen   map[uint64][]common.Hash
}

const seenHeights = 1000

func (v *validator) check(data []byte) (*payload, error) {
	size, err := snappy.DecodedLen(data)
	if err != nil || size > maxMessageBytes || size < minMessageBytes {
		return nil, fmt.Errorf("decoded length %d: %v", size, err)
	}
	plain, err := snappy.Decode(nil, data)
	if err != nil {
		return nil, err
	}
	signature, body := plain[:signatureBytes], plain[signatureBytes:]
	hash := signingHash(v.chainID, body)
	public, err := crypto.SigToPub(hash[:], signature)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	v.mu.Lock()
	signer := v.signer
	v.mu.Unlock()
	if signer == (common.Address{}) {
		return nil, errIgnore
	}
	if got := crypto.PubkeyToAddress(*public); got != signer {
		return nil, fmt.Errorf("signed by %s, not %s", got, signer)
	}
	p, err := decodeBody(v.version, body)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if int64(p.Timestamp) < now.Add(-v.threshold).Unix() || int64(p.Timestamp) > now.Unix()+5 {
		return nil, fmt.Errorf("timestamp %d at %d", p.Timestamp, now.Unix())
	}
	if got := p.hash(); got != p.BlockHash {
		return nil, fmt.Errorf("blockHash is %s, not %s", p.BlockHash, got)
	}
	if p.WithdrawalCount != 0 || p.HasWithdrawalList != (v.version >= 2) {
		return nil, fmt.Errorf("%d withdrawals", p.WithdrawalCount)
	}
	if p.ExcessBlobGas != 0 || (p.Version < 4 && p.BlobGasUsed != 0) {
		return nil, fmt.Errorf("blob gas %d, excess %d", p.BlobGasUsed, p.ExcessBlobGas)
	}
	return p, v.remember(p)
}

func (v *validator) remember(p *payload) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	hashes := v.seen[p.Number]
	if len(hashes) > 5 {
		return fmt.Errorf("%d blocks at height %d", len(hashes), p.Number)
	}
	for _, hash := range hashes {
		if hash == p.BlockHash {
			return errIgnore
		}
	}
	if len(hashes) == 0 && len(v.seen) >= seenHeights {
		for number := range v.seen { // any: this node does not live long
			delete(v.seen, number)
			break
		}
	}
	v.seen[p.Number] = append(hashes, p.BlockHash)
	return nil
}

// gossip is the mesh of the four block topics.
type gossip struct {
	chainID    uint64
	key        *ecdsa.PrivateKey
	pubsub     *pubsub.PubSub
	topics     [newestVersion + 1]*pubsub.Topic
	validators [newestVersion + 1]*validator
}

// Blocks of a topic that are validated at a time; the library drops those that come meanwhile. A benchmark sends more.
const (
	validatedAtATime      = 4
	benchValidatedAtATime = 64
)

// joinGossip takes part in all topics; onBlock sees what was accepted, onRefused why anything else was not.
func joinGossip(ctx context.Context, n *node, signer common.Address, threshold time.Duration, atATime int,
	onBlock func(*payload, peer.ID), onRefused func(version int, from peer.ID, err error)) (*gossip, error) {
	topics := make([]string, 0, newestVersion)
	for version := 1; version <= newestVersion; version++ {
		topics = append(topics, topicOf(n.chainID, version))
	}
	params := pubsub.DefaultGossipSubParams()
	params.D, params.Dlo, params.Dhi, params.Dlazy = 8, 6, 12, 6
	params.HeartbeatInterval = 500 * time.Millisecond
	params.FanoutTTL = 24 * time.Second
	params.HistoryLength, params.HistoryGossip = 12, 3
	ps, err := pubsub.NewGossipSub(ctx, n.host,
		pubsub.WithGossipSubProtocols([]pubsubProtocol{pubsub.GossipSubID_v11, pubsub.GossipSubID_v10, pubsub.FloodSubID}, pubsub.GossipSubDefaultFeatures),
		pubsub.WithGossipSubParams(params),
		pubsub.WithMessageIdFn(messageID),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign),
		pubsub.WithNoAuthor(),
		pubsub.WithMaxMessageSize(maxMessageBytes),
		pubsub.WithSubscriptionFilter(pubsub.NewAllowlistSubscriptionFilter(topics...)),
		pubsub.WithFloodPublish(false),
		pubsub.WithPeerExchange(false),
		pubsub.WithPeerOutboundQueueSize(256),
		pubsub.WithValidateQueueSize(256),
		pubsub.WithValidateThrottle(512),
		pubsub.WithSeenMessagesTTL(65*time.Second),
	)
	if err != nil {
		return nil, err
	}
	g := &gossip{chainID: n.chainID, key: n.key, pubsub: ps}
	for version := 1; version <= newestVersion; version++ {
		v := &validator{chainID: n.chainID, version: version, threshold: threshold, signer: signer, seen: map[uint64][]common.Hash{}}
		validate := func(_ context.Context, from peer.ID, msg *pubsub.Message) pubsub.ValidationResult {
			p, err := v.check(msg.Data)
			switch {
			case err == nil:
				msg.ValidatorData = p
				return pubsub.ValidationAccept
			case errors.Is(err, errIgnore):
				return pubsub.ValidationIgnore
			default:
				onRefused(v.version, from, err)
				return pubsub.ValidationReject
			}
		}
		name := topicOf(n.chainID, version)
		if err := ps.RegisterTopicValidator(name, validate, pubsub.WithValidatorTimeout(3*time.Second), pubsub.WithValidatorConcurrency(atATime)); err != nil {
			return nil, err
		}
		topic, err := ps.Join(name)
		if err != nil {
			return nil, err
		}
		subscription, err := topic.Subscribe(pubsub.WithBufferSize(256))
		if err != nil {
			return nil, err
		}
		g.topics[version], g.validators[version] = topic, v
		go func() {
			for {
				msg, err := subscription.Next(ctx)
				if err != nil {
					return
				}
				if p, ok := msg.ValidatorData.(*payload); ok && msg.ReceivedFrom != n.host.ID() {
					onBlock(p, msg.ReceivedFrom)
				}
			}
		}()
	}
	return g, nil
}

func (g *gossip) publish(ctx context.Context, p *payload) error {
	message, err := seal(g.chainID, g.key, p)
	if err != nil {
		return err
	}
	return g.topics[p.Version].Publish(ctx, message)
}

// checkSamples recomputes the published samples of ids and signing hashes, so that a mistake here is not taken for one of the other side.
func checkSamples() error {
	topic := "/optimism/10/2/blocks"
	id := messageID(&pb.Message{Topic: &topic, Data: []byte{5, 16, 1, 2, 3, 4, 5}})
	if got := hex.EncodeToString([]byte(id)); got != "6d1aa2a16f4af124a51de0cd78e15b763f886e94" {
		return fmt.Errorf("message id of the sample is %s", got)
	}
	hash := signingHash(10, bytes.Repeat([]byte{0x99}, 32))
	if got := hash.Hex(); got != "0x44a0e2b1aba1aae1771eddae1dcd2ad18a8cdac8891517153f03253e49d3f206" {
		return fmt.Errorf("signing hash of the sample is %s", got)
	}
	return nil
}
