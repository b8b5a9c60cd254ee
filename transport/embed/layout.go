package embed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"sentient/runtime/vec"
)

// The shape of the model.
const (
	Dim     = 512 // numbers of a vector
	wordDim = 256 // numbers of a piece's own vector
	inner   = 1536
	heads   = 4
	waves   = 128 // frequencies that say where in the text a piece stands
	layers  = 2
)

// The file: magic, the number of pieces, the length of the vocabulary, the vocabulary, then the tensors in the order of tensorList,
// all numbers little-endian, every part beginning at a multiple of 64 bytes.
const (
	magic       = "STUSEL01"
	align       = 64
	maxVocab    = 1 << 20
	headerBytes = 64
)

// tensor is one array of the model: where the original has it and its shape. A matrix (in > 0) is packed for vec.Weights.
type tensor struct {
	name    string
	in, out int // in 0: a vector of out numbers
	plain   bool
}

func (t tensor) size() int { return max(t.in, 1) * t.out }

// tensorList is every array, in the file's order. The names are the original's without what is the same in all of them.
func tensorList(pieces int) []tensor {
	list := []tensor{
		{"Embeddings_en", pieces, wordDim, true}, {"Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1", 0, waves, false},
		{"Layer_0/dense/kernel", wordDim, Dim, false}, {"Layer_0/dense/bias", 0, Dim, false},
	}
	for l, d := range [layers]int{wordDim, Dim} {
		at := fmt.Sprintf("Layer_%d/", l)
		list = append(list,
			tensor{at + "layer_prepostprocess/layer_norm/layer_norm_scale", 0, d, false}, tensor{at + "layer_prepostprocess/layer_norm/layer_norm_bias", 0, d, false},
			tensor{at + "MultiheadAttention/qkv_transform_single/kernel", d, 3 * d, false}, tensor{at + "MultiheadAttention/qkv_transform_single/bias", 0, 3 * d, false},
			tensor{at + "MultiheadAttention/output_transform_single/kernel", d, Dim, false}, tensor{at + "MultiheadAttention/output_transform_single/bias", 0, Dim, false},
			tensor{at + "FFN/layer_prepostprocess/layer_norm/layer_norm_scale", 0, Dim, false}, tensor{at + "FFN/layer_prepostprocess/layer_norm/layer_norm_bias", 0, Dim, false},
			tensor{at + "FFN/conv1/Tensordot/Reshape_1", Dim, inner, false}, tensor{at + "FFN/conv1/bias", 0, inner, false},
			tensor{at + "FFN/conv2/Tensordot/Reshape_1", inner, Dim, false}, tensor{at + "FFN/conv2/bias", 0, Dim, false})
	}
	return append(list, tensor{"hidden_layers/tanh_layer_0/weights", Dim, Dim, false}, tensor{"hidden_layers/tanh_layer_0/bias", 0, Dim, false})
}

// linear is the wiring of one matrix and its bias.
type linear struct{ vec.Weights }

// layer is one transformer block.
type layer struct {
	dim                int
	inScale, inBias    []float32
	qkv, out           linear
	ffScale, ffBias    []float32
	widen, narrow      linear
	project            linear // brings the first block's input to Dim; In is 0 where the input has it already
	scoreScale         float32
	headDim, qkvStride int
}

// weights is the model ready to run; its numbers lie in the file's bytes.
type weights struct {
	tokens *tokenizer
	words  []float32 // by piece, wordDim each
	waves  []float32
	block  [layers]layer
	last   linear
	places []float32 // by place in the text, wordDim each: what says where a piece stands
}

var errLayout = errors.New("use-lite.bin is not a model file of this program")

// parse reads the layout. The bytes are kept and must not change. It checks every length; whether the numbers are the right ones is
// for the checksum.
func parse(file []byte) (*weights, error) {
	if len(file) < headerBytes || string(file[:8]) != magic {
		return nil, errLayout
	}
	count, size := int(binary.LittleEndian.Uint32(file[8:])), int(binary.LittleEndian.Uint32(file[12:]))
	if count <= reserved || size > maxVocab || size < 9*count || headerBytes+size > len(file) {
		return nil, errLayout
	}
	pieces, err := readPieces(file[headerBytes:headerBytes+size], count)
	if err != nil {
		return nil, err
	}
	list := tensorList(embeddingRows(count))
	at := roundUp(headerBytes + size)
	arrays := make([][]float32, len(list))
	for i, t := range list {
		end := at + 4*t.size()
		if end > len(file) {
			return nil, errLayout
		}
		arrays[i] = floats(file[at:end])
		at = roundUp(end)
	}
	return assemble(list, arrays, newTokenizer(pieces))
}

// embeddingRows: the original has two rows more than pieces.
func embeddingRows(pieces int) int { return pieces + 2 }

func roundUp(n int) int { return (n + align - 1) / align * align }

func readPieces(b []byte, count int) ([]piece, error) {
	out := make([]piece, 0, count)
	for range count {
		if len(b) < 9 || len(b) < 9+int(b[8]) {
			return nil, errLayout
		}
		out = append(out, piece{string(b[9 : 9+int(b[8])]), math.Float64frombits(binary.LittleEndian.Uint64(b))})
		b = b[9+int(b[8]):]
	}
	if len(b) != 0 {
		return nil, errLayout
	}
	return out, nil
}

// floats looks at bytes as numbers, in place where the processor's order of bytes and the alignment allow it.
func floats(b []byte) []float32 {
	n := len(b) / 4
	if n == 0 {
		return nil
	}
	little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	if little && uintptr(unsafe.Pointer(&b[0]))%4 == 0 {
		return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// assemble takes the arrays one after the other, in tensorList's order.
func assemble(list []tensor, arrays [][]float32, tokens *tokenizer) (*weights, error) {
	var failed error
	i := 0
	vector := func() []float32 { i++; return arrays[i-1] }
	matrix := func() linear {
		w, err := vec.NewWeights(arrays[i], arrays[i+1], list[i].in, list[i].out)
		i += 2
		failed = errors.Join(failed, err)
		return linear{w}
	}
	w := &weights{tokens: tokens, words: vector(), waves: vector()}
	project := matrix()
	for l, d := range [layers]int{wordDim, Dim} {
		w.block[l] = layer{dim: d, inScale: vector(), inBias: vector(), qkv: matrix(), out: matrix(), ffScale: vector(), ffBias: vector(),
			widen: matrix(), narrow: matrix(), headDim: d / heads, qkvStride: 3 * d, scoreScale: float32(1 / math.Sqrt(float64(d/heads)))}
	}
	w.block[0].project = project
	w.last = matrix()
	w.places = placeTable(w.waves)
	return w, failed
}

// placeTable is the sines and cosines of every place a piece can have.
func placeTable(frequencies []float32) []float32 {
	out := make([]float32, maxPieces*wordDim)
	for i := range maxPieces {
		row := out[i*wordDim : (i+1)*wordDim]
		for j, f := range frequencies {
			a := float64(float32(i) * f)
			row[j], row[waves+j] = float32(math.Sin(a)), float32(math.Cos(a))
		}
	}
	return out
}

// arrange lays a model out as a file: the inverse of parse. The arrays are the original's, rows by columns.
func arrange(pieces []piece, arrays map[string][]float32) ([]byte, error) {
	var vocab []byte
	for _, p := range pieces {
		if len(p.text) > 255 {
			return nil, fmt.Errorf("the piece %q is too long", p.text)
		}
		vocab = binary.LittleEndian.AppendUint64(vocab, math.Float64bits(p.score))
		vocab = append(append(vocab, byte(len(p.text))), p.text...)
	}
	file := make([]byte, headerBytes, 32<<20)
	copy(file, magic)
	binary.LittleEndian.PutUint32(file[8:], uint32(len(pieces)))
	binary.LittleEndian.PutUint32(file[12:], uint32(len(vocab)))
	file = append(file, vocab...)
	for _, t := range tensorList(embeddingRows(len(pieces))) {
		numbers := arrays[t.name]
		if len(numbers) != t.size() {
			return nil, fmt.Errorf("the array %s has %d numbers, not %d", t.name, len(numbers), t.size())
		}
		if t.in > 0 && !t.plain {
			packed, err := vec.Pack(numbers, t.in, t.out)
			if err != nil {
				return nil, fmt.Errorf("the array %s: %w", t.name, err)
			}
			numbers = packed
		}
		file = append(file, make([]byte, roundUp(len(file))-len(file))...)
		for _, x := range numbers {
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(x))
		}
	}
	return file, nil
}
