// Command registry writes an empty superchain registry, and its hash, in the form that the OP Stack's programs embed. The module of
// these programs lacks the archive, because its repository makes it before a build.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

const name = "superchain-configs.zip"

func main() {
	var archive bytes.Buffer
	files := zip.NewWriter(&archive)
	for file, content := range map[string]string{"dictionary": "", "chains.json": "{}"} {
		writer, err := files.Create(file)
		check(err)
		_, err = writer.Write([]byte(content))
		check(err)
	}
	check(files.Close())
	folder := os.Args[1]
	check(os.WriteFile(filepath.Join(folder, name), archive.Bytes(), 0o644))
	hash := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	check(os.WriteFile(filepath.Join(folder, name+".sha256"), []byte(hash), 0o644))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
