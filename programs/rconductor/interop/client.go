package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/rpc"

	conductorrpc "github.com/ethereum-optimism/optimism/op-conductor/rpc"
	"github.com/ethereum-optimism/optimism/op-node/config"
	"github.com/ethereum-optimism/optimism/op-node/metrics"
	"github.com/ethereum-optimism/optimism/op-node/node"
	"github.com/ethereum-optimism/optimism/op-node/rollup/conductor"
)

// nodeTimeout is op-node's default of conductor.rpc-timeout.
const nodeTimeout = time.Second

// nodeClients holds a client of op-node for each conductor that was asked.
type nodeClients struct {
	mutex   sync.Mutex
	logger  log.Logger
	metrics *metrics.Metrics
	byURL   map[string]conductor.SequencerConductor
}

func newNodeClients(logger log.Logger) *nodeClients {
	return &nodeClients{logger: logger, metrics: metrics.NewMetrics("interop", nil), byURL: map[string]conductor.SequencerConductor{}}
}

func (c *nodeClients) of(url string) conductor.SequencerConductor {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if client, ok := c.byURL[url]; ok {
		return client
	}
	client := node.NewConductorClient(&config.Config{
		ConductorEnabled:    true,
		ConductorRpc:        func(context.Context) (string, error) { return url, nil },
		ConductorRpcTimeout: nodeTimeout,
	}, c.logger, c.metrics)
	c.byURL[url] = client
	return client
}

func (c *nodeClients) call(ctx context.Context, asked command) (any, error) {
	client := c.of(asked.URL)
	switch asked.Call {
	case "leader":
		return client.Leader(ctx)
	case "commit":
		return nil, client.CommitUnsafePayload(ctx, asked.Envelope)
	case "override":
		return nil, client.OverrideLeader(ctx)
	}
	return nil, fmt.Errorf("op-node's client has no %s", asked.Call)
}

func callAPI(ctx context.Context, asked command) (any, error) {
	connection, err := rpc.DialContext(ctx, asked.URL)
	if err != nil {
		return nil, err
	}
	api := conductorrpc.NewAPIClient(connection)
	defer api.Close()
	switch asked.Call {
	case "overrideLeader":
		return nil, api.OverrideLeader(ctx, asked.Flag)
	case "leaderOverridden":
		return api.LeaderOverridden(ctx)
	case "pause":
		return nil, api.Pause(ctx)
	case "resume":
		return nil, api.Resume(ctx)
	case "stop":
		return nil, api.Stop(ctx)
	case "paused":
		return api.Paused(ctx)
	case "stopped":
		return api.Stopped(ctx)
	case "active":
		return api.Active(ctx)
	case "sequencerHealthy":
		return api.SequencerHealthy(ctx)
	case "leader":
		return api.Leader(ctx)
	case "leaderWithID":
		return api.LeaderWithID(ctx)
	case "addServerAsVoter":
		return nil, api.AddServerAsVoter(ctx, asked.Server, asked.Addr, asked.Version)
	case "addServerAsNonvoter":
		return nil, api.AddServerAsNonvoter(ctx, asked.Server, asked.Addr, asked.Version)
	case "removeServer":
		return nil, api.RemoveServer(ctx, asked.Server, asked.Version)
	case "demoteVoter":
		return nil, api.DemoteVoter(ctx, asked.Server, asked.Version)
	case "transferLeader":
		return nil, api.TransferLeader(ctx)
	case "transferLeaderToServer":
		return nil, api.TransferLeaderToServer(ctx, asked.Server, asked.Addr)
	case "clusterMembership":
		return api.ClusterMembership(ctx)
	case "commitUnsafePayload":
		return nil, api.CommitUnsafePayload(ctx, asked.Envelope)
	}
	return nil, fmt.Errorf("op-conductor's client has no %s", asked.Call)
}
