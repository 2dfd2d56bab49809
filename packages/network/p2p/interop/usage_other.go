//go:build !linux

package main

import "errors"

// The clock that all processes share, and a process's own memory, are asked for in Linux's way only.
const canMeasure = false

func monotonicNs() int64 { return 0 }

func usage() (*usageReport, error) { return nil, errors.New("measured on Linux only") }
