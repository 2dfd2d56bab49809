package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// serveBeaconAPI answers what beacon nodes of Gloas answer to those who read blobs: no sidecars, no SECONDS_PER_SLOT.
func serveBeaconAPI(b *beacon) (string, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /eth/v1/beacon/genesis", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{
			"genesis_time":            fmt.Sprint(b.genesisTime),
			"genesis_validators_root": common.Hash{2}.Hex(),
			"genesis_fork_version":    "0x90000000",
		})
	})
	mux.HandleFunc("GET /eth/v1/config/spec", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{
			"SLOT_DURATION_MS":   fmt.Sprint(b.slotTime * 1000),
			"SLOTS_PER_EPOCH":    "32",
			"DEPOSIT_CHAIN_ID":   b.config.ChainID.String(),
			"DEPOSIT_NETWORK_ID": b.config.ChainID.String(),
			"FULU_FORK_EPOCH":    "0",
			"MIN_EPOCHS_FOR_DATA_COLUMN_SIDECARS_REQUESTS": "4096",
		})
	})
	mux.HandleFunc("GET /eth/v1/node/version", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{"version": "amsterdam-l1/1"})
	})
	mux.HandleFunc("GET /eth/v2/node/version", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"beacon_node": map[string]string{"code": "RN", "name": "amsterdam-l1", "version": "1", "commit": "00000000"}})
	})
	mux.HandleFunc("GET /eth/v1/beacon/blobs/{slot}", b.answerBlobs)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go http.Serve(listener, mux)
	return "http://" + listener.Addr().String(), nil
}

func (b *beacon) answerBlobs(w http.ResponseWriter, request *http.Request) {
	slot, err := strconv.ParseUint(request.PathValue("slot"), 10, 64)
	if err != nil {
		refuse(w, http.StatusBadRequest, "the slot is not a number")
		return
	}
	b.lock.Lock()
	all, isThere := b.blobs[slot]
	b.lock.Unlock()
	if !isThere {
		refuse(w, http.StatusNotFound, "no payload in this slot")
		return
	}
	wanted := make(map[common.Hash]bool)
	for _, list := range request.URL.Query()["versioned_hashes"] {
		for text := range strings.SplitSeq(list, ",") {
			wanted[common.HexToHash(text)] = true
		}
	}
	found := make([]hexutil.Bytes, 0, len(all))
	for _, blob := range all {
		if len(wanted) == 0 || wanted[blob.hash] {
			found = append(found, blob.data)
		}
	}
	reply(w, found)
}

func reply(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"execution_optimistic": false, "finalized": false, "data": data})
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message})
}
