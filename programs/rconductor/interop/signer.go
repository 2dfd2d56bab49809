package main

import (
	"context"
	"fmt"
	"math/big"
	"net/http"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/log"

	"github.com/ethereum-optimism/optimism/op-service/eth"
	"github.com/ethereum-optimism/optimism/op-service/signer"
	optls "github.com/ethereum-optimism/optimism/op-service/tls"
)

// sign asks a remote signer as op-node, op-batcher and op-proposer do. It answers with a signature, or a raw transaction, in hex.
func sign(ctx context.Context, logger log.Logger, asked command) (any, error) {
	request := asked.Sign
	settings := optls.CLIConfig{}
	if request.TLS != nil {
		settings = optls.CLIConfig{Enabled: true, TLSCaCert: request.TLS.CA, TLSCert: request.TLS.Cert, TLSKey: request.TLS.Key}
	}
	client, err := signer.NewSignerClient(logger, asked.URL, http.Header{}, settings)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	chain := new(big.Int).SetUint64(request.ChainID)
	switch asked.Call {
	case "block":
		signature, err := client.SignBlockPayload(ctx, &signer.BlockPayloadArgs{
			ChainID:       chain,
			PayloadHash:   request.PayloadHash[:],
			SenderAddress: &request.Sender,
		})
		return hexutil.Bytes(signature[:]), err
	case "blockV2":
		signature, err := client.SignBlockPayloadV2(ctx, &signer.BlockPayloadArgsV2{
			ChainID:       eth.ChainIDFromBig(chain),
			PayloadHash:   request.PayloadHash,
			SenderAddress: &request.Sender,
		})
		return hexutil.Bytes(signature[:]), err
	case "transaction":
		unsigned := new(types.Transaction)
		if err := unsigned.UnmarshalBinary(request.Transaction); err != nil {
			return nil, err
		}
		signed, err := client.SignTransaction(ctx, chain, request.Sender, unsigned)
		if err != nil {
			return nil, err
		}
		raw, err := signed.MarshalBinary()
		return hexutil.Bytes(raw), err
	}
	return nil, fmt.Errorf("op-service's signer has no %s", asked.Call)
}
