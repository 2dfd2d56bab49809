// Command derivation-interop says what op-node's derivation makes of bytes that an L1 carries. Questions are lines of JSON on its input;
// answers are lines of JSON on its output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// maxLine is enough for the largest generated batch in hex.
const maxLine = 16 << 20

type answer struct {
	ID     int    `json:"id"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func answerTo(line []byte) (out answer) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{Error: "not a question: " + err.Error()}
	}
	out.ID = q.ID
	defer func() {
		if p := recover(); p != nil {
			out.Error = fmt.Sprint("panic: ", p)
		}
	}()
	read, known := readers[q.Command]
	if !known {
		out.Error = "unknown command " + q.Command
		return out
	}
	out.Result = read(q)
	return out
}

func main() {
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(map[string]string{"event": "ready"})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), maxLine)
	for lines.Scan() {
		_ = out.Encode(answerTo(lines.Bytes()))
	}
}
