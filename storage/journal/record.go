package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A record is: schema (uvarint), payload, CRC-32C of key, schema and payload (4 bytes, little endian). The key is part of
// the sum, so a record that turns up under another key is damage too.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errShort = errors.New("it is too short")
	errSum   = errors.New("its checksum does not match")
	errShape = errors.New("its parts do not fit together")
)

// Kind says what a record holds, for an Upgrader.
type Kind uint8

// The kinds of record that hold data of the rooms above.
const (
	KindEvent Kind = iota + 1
	KindSnapshot
	KindCheckpoint
	KindRow
	KindNote
)

// Upgrader turns data that was written with an older schema number into today's. Name is the stream (events, snapshots,
// checkpoints), the table (rows) or the type (notes). It is called on each read and must be pure; data may be kept.
type Upgrader func(kind Kind, name string, schema uint64, data []byte) ([]byte, error)

// seal appends the checksum to a record that starts with its schema number.
func seal(key, record []byte) []byte {
	sum := crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, record)
	return binary.LittleEndian.AppendUint32(record, sum)
}

func appendRecord(dst, key []byte, schema uint64, payload []byte) []byte {
	return seal(key, append(binary.AppendUvarint(dst[:0], schema), payload...))
}

// open checks a record and returns its parts.
func open(key, record []byte) (schema uint64, payload []byte, err error) {
	if len(record) < 5 {
		return 0, nil, &CorruptError{Printable(key), errShort}
	}
	body := record[:len(record)-4]
	sum := crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, body)
	if sum != binary.LittleEndian.Uint32(record[len(record)-4:]) {
		return 0, nil, &CorruptError{Printable(key), errSum}
	}
	schema, n := binary.Uvarint(body)
	if n <= 0 {
		return 0, nil, &CorruptError{Printable(key), errShape}
	}
	return schema, body[n:], nil
}

func appendBytes[S ~string | ~[]byte](dst []byte, s S) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func cutBytes(b []byte) (part, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(size) : n+int(size)], b[n+int(size):], true
}

// A row's payload: the number of index entries, each entry's index and key, then the value. The header is all but the value.

func appendHeader(dst []byte, index []IndexEntry) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(index)))
	for _, e := range index {
		dst = appendBytes(appendBytes(dst, e.Index), e.Key)
	}
	return dst
}

// cutHeader splits a row's payload.
func cutHeader(payload []byte) (header, value []byte, ok bool) {
	rest, ok := eachEntry(payload, func(_, _ []byte) {})
	return payload[:len(payload)-len(rest)], rest, ok
}

// eachEntry calls f for every index entry of a header and returns what follows it.
func eachEntry(header []byte, f func(index, key []byte)) (rest []byte, ok bool) {
	count, n := binary.Uvarint(header)
	if n <= 0 || count > uint64(len(header)) {
		return header, false
	}
	rest = header[n:]
	for ; count > 0; count-- {
		var index, key []byte
		if index, rest, ok = cutBytes(rest); !ok {
			return rest, false
		}
		if key, rest, ok = cutBytes(rest); !ok {
			return rest, false
		}
		f(index, key)
	}
	return rest, true
}

// A note's payload: type, topic, data.

func appendNote(dst []byte, n Note) []byte {
	return append(appendBytes(appendBytes(dst, n.Type), n.Topic), n.Data...)
}

func cutNote(payload []byte) (n Note, ok bool) {
	kind, rest, ok := cutBytes(payload)
	if !ok {
		return n, false
	}
	topic, rest, ok := cutBytes(rest)
	return Note{Type: string(kind), Topic: string(topic), Data: rest}, ok
}

// decoder reads records for a reader: it checks, refuses newer schema numbers and upgrades older ones.
type decoder struct {
	schema  uint64
	upgrade Upgrader
}

// payload opens a record of a known or older schema number.
func (d decoder) payload(key, record []byte) (schema uint64, payload []byte, err error) {
	schema, payload, err = open(key, record)
	if err == nil && schema > d.schema {
		err = &NewerError{Found: schema, Known: d.schema}
	}
	return schema, payload, err
}

// data is today's form of data that was written with schema.
func (d decoder) data(key []byte, kind Kind, name string, schema uint64, data []byte) ([]byte, error) {
	if schema == d.schema || d.upgrade == nil {
		return data, nil
	}
	out, err := d.upgrade(kind, name, schema, data)
	if err != nil {
		return nil, &CorruptError{Printable(key), err}
	}
	return out, nil
}

func (d decoder) whole(key, record []byte, kind Kind, name string) ([]byte, error) {
	schema, payload, err := d.payload(key, record)
	if err != nil {
		return nil, err
	}
	return d.data(key, kind, name, schema, payload)
}

// snapshot returns the version and the state.
func (d decoder) snapshot(key, record []byte, s Stream) (uint64, []byte, error) {
	schema, payload, err := d.payload(key, record)
	if err != nil {
		return 0, nil, err
	}
	version, n := binary.Uvarint(payload)
	if n <= 0 {
		return 0, nil, &CorruptError{Printable(key), errShape}
	}
	state, err := d.data(key, KindSnapshot, string(s), schema, payload[n:])
	return version, state, err
}

func (d decoder) row(key, record []byte, table string) ([]byte, error) {
	schema, payload, err := d.payload(key, record)
	if err != nil {
		return nil, err
	}
	_, value, ok := cutHeader(payload)
	if !ok {
		return nil, &CorruptError{Printable(key), errShape}
	}
	return d.data(key, KindRow, table, schema, value)
}

// lists says whether a row names an index entry as its own.
func (d decoder) lists(key, record []byte, e IndexEntry) (bool, error) {
	header, err := d.header(key, record)
	return err == nil && entryIn(header, e), err
}

func (d decoder) note(key, record []byte) (n Note, err error) {
	schema, payload, err := d.payload(key, record)
	if err != nil {
		return n, err
	}
	n, ok := cutNote(payload)
	if !ok {
		return n, &CorruptError{Printable(key), errShape}
	}
	n.Data, err = d.data(key, KindNote, n.Type, schema, n.Data)
	return n, err
}
