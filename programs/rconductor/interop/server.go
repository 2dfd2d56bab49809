package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/ethereum-optimism/optimism/op-conductor/consensus"
	conductorrpc "github.com/ethereum-optimism/optimism/op-conductor/rpc"
	"github.com/ethereum-optimism/optimism/op-service/eth"
)

type stubState struct {
	Leader bool `json:"leader"`
	// error of the next commits; empty: they succeed
	Refusal string `json:"refusal"`
}

// committed is a block as op-conductor has read it.
type committed struct {
	Number uint64      `json:"number"`
	Hash   common.Hash `json:"hash"`
	// computed from the fields
	ActualHash common.Hash `json:"actualHash"`
	HasRoot    bool        `json:"hasRoot"`
}

// stub is a conductor without a cluster, behind op-conductor's own server.
type stub struct {
	mutex sync.Mutex
	state stubState
	heard []committed
}

func newStub() *stub { return &stub{heard: []committed{}} }

func (s *stub) set(state stubState) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.state = state
}

func (s *stub) takeHeard() []committed {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	heard := s.heard
	s.heard = []committed{}
	return heard
}

func (s *stub) Leader(context.Context) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.state.Leader
}

func (s *stub) CommitUnsafePayload(_ context.Context, envelope *eth.ExecutionPayloadEnvelope) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	actual, _ := envelope.CheckBlockHash()
	payload := envelope.ExecutionPayload
	s.heard = append(s.heard, committed{
		Number:     uint64(payload.BlockNumber),
		Hash:       payload.BlockHash,
		ActualHash: actual,
		HasRoot:    envelope.ParentBeaconBlockRoot != nil,
	})
	if s.state.Refusal != "" {
		return errors.New(s.state.Refusal)
	}
	return nil
}

var errUnused = errors.New("nobody asks this here")

func (s *stub) OverrideLeader(bool)                                               {}
func (s *stub) LeaderOverridden() bool                                            { return false }
func (s *stub) Pause(context.Context) error                                       { return errUnused }
func (s *stub) Resume(context.Context) error                                      { return errUnused }
func (s *stub) Stop(context.Context) error                                        { return errUnused }
func (s *stub) Paused() bool                                                      { return false }
func (s *stub) Stopped() bool                                                     { return false }
func (s *stub) SequencerHealthy(context.Context) bool                             { return true }
func (s *stub) LeaderWithID(context.Context) *consensus.ServerInfo                { return nil }
func (s *stub) AddServerAsVoter(context.Context, string, string, uint64) error    { return errUnused }
func (s *stub) AddServerAsNonvoter(context.Context, string, string, uint64) error { return errUnused }
func (s *stub) RemoveServer(context.Context, string, uint64) error                { return errUnused }
func (s *stub) DemoteVoter(context.Context, string, uint64) error                 { return errUnused }
func (s *stub) TransferLeader(context.Context) error                              { return errUnused }
func (s *stub) TransferLeaderToServer(context.Context, string, string) error      { return errUnused }
func (s *stub) ClusterMembership(context.Context) (*consensus.ClusterMembership, error) {
	return nil, errUnused
}

// serve returns the address of op-conductor's server in front of the stub.
func serve(logger log.Logger, s *stub) (string, error) {
	server := rpc.NewServer()
	if err := server.RegisterName(conductorrpc.RPCNamespace, conductorrpc.NewAPIBackend(logger, s)); err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = (&http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}).Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}
