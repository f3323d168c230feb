// Checks an export with Go's own transparency log, which is what its checksum database is served by, and with nothing of ours:
// the signature on the checkpoint, and that the root is that of every entry in the bundles, by way of the tiles.
//
//	go run . <folder>
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

func main() {
	size, err := verify(os.Args[1])
	if err != nil {
		fmt.Println("not genuine:", err)
		os.Exit(3)
	}
	fmt.Println(size, "entries are genuine")
}

func verify(folder string) (int64, error) {
	vkey, err := os.ReadFile(filepath.Join(folder, "log.vkey"))
	if err != nil {
		return 0, err
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	if err != nil {
		return 0, err
	}
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	if err != nil {
		return 0, err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return 0, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return 0, fmt.Errorf("the checkpoint is not of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return 0, err
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return 0, err
	}
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{folder})
	for first := int64(0); first < size; first += 1 << height {
		if err := bundle(folder, reader, first, min(size-first, 1<<height)); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// bundle holds each entry of a bundle against the hash that the tree has for it; the reader has checked that one against the root.
func bundle(folder string, reader tlog.HashReader, first, width int64) error {
	indexes := make([]int64, width)
	for at := range indexes {
		indexes[at] = tlog.StoredHashIndex(0, first+int64(at))
	}
	hashes, err := reader.ReadHashes(indexes)
	if err != nil {
		return err
	}
	path := strings.Replace(pathOf(tlog.Tile{H: height, L: 0, N: first >> height, W: int(width)}), "tile/0/", "tile/entries/", 1)
	data, err := os.ReadFile(filepath.Join(folder, path))
	if err != nil {
		return err
	}
	for at, hash := range hashes {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return fmt.Errorf("%s is too short", path)
		}
		length := 2 + int(binary.BigEndian.Uint16(data))
		if tlog.RecordHash(data[2:length]) != hash {
			return fmt.Errorf("entry %d is not the one in the tree", first+int64(at)+1)
		}
		data = data[length:]
	}
	if len(data) != 0 {
		return fmt.Errorf("%s is too long", path)
	}
	return nil
}

type tiles struct{ folder string }

func (tiles) Height() int                           { return height }
func (tiles) SaveTiles(_ []tlog.Tile, _ [][]byte)   {}
func (t tiles) ReadTiles(all []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range all {
		bytes, err := os.ReadFile(filepath.Join(t.folder, pathOf(tile)))
		if err != nil {
			return nil, err
		}
		data = append(data, bytes)
	}
	return data, nil
}

// pathOf is the path without the height, which the C2SP form of it does not have.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
}
