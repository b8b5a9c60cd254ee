package file

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"sentient/actors/msg"
	"sentient/storage/blob"
)

// Listed is a row of file_list.
type Listed struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

func (f *Files) listTool() msg.Tool {
	return msg.Tool{
		Name:        "file_list",
		Description: "List the files of the files folder, or of a folder inside it, with their sizes.",
		Parameters: json.RawMessage(`{"type":"object","properties":{
			"subdir":{"type":"string","default":"","description":"A folder such as uploads or outputs; empty lists everything"}},"additionalProperties":false}`),
		Risk: msg.RiskRead,
		Run: func(_ context.Context, c *msg.Call) (any, error) {
			list, err := f.o.Folder.List(strings.TrimSuffix(text(c.Args, "subdir"), "/"))
			if err != nil {
				return nil, err
			}
			rows := []Listed{}
			for _, info := range list {
				if owner, ok := blob.IncognitoSession(info.Name); ok && owner != c.Session {
					continue
				}
				if rows = append(rows, Listed{info.Name, info.Size}); len(rows) == maxListed {
					break
				}
			}
			return rows, nil
		},
	}
}

// Written is the result of file_write.
type Written struct {
	Saved string `json:"saved"` // the name in the files folder
	Path  string `json:"path"`  // on this computer
	Bytes int    `json:"bytes"`

	Replaced bool `json:"replaced,omitempty"` // a file of that name was there
}

func (f *Files) writeTool() msg.Tool {
	return msg.Tool{
		Name:        "file_write",
		Description: "Write a text file into the files folder. A file of that name is replaced, unless the user attached it; folders are made as needed.",
		Parameters: json.RawMessage(`{"type":"object","properties":{
			"name":{"type":"string","minLength":1,"description":"Name inside the files folder, e.g. notes/trip.md"},
			"content":{"type":"string","description":"The whole text of the file"}},
			"required":["name","content"],"additionalProperties":false}`),
		Risk:     msg.RiskWrite,
		Internal: true,
		Outcome:  "file",
		Run: func(_ context.Context, c *msg.Call) (any, error) {
			name, content := text(c.Args, "name"), text(c.Args, "content")
			if owner, ok := blob.IncognitoSession(name); ok && owner != c.Session {
				return nil, errors.New("this folder belongs to an incognito chat: write the file somewhere else")
			}
			if real, err := f.o.Folder.Resolve(name); err == nil && brought(real) {
				return nil, errors.New("this is a file that the user attached, and it is not written over: save yours under another name, e.g. in notes/")
			}
			_, none := f.o.Folder.Stat(name)
			if _, err := f.o.Folder.Save(name, strings.NewReader(content), maxWrite); err != nil {
				return nil, err
			}
			return Written{Saved: name, Path: filepath.Join(f.o.Folder.Dir(), filepath.FromSlash(name)), Bytes: len(content), Replaced: none == nil}, nil
		},
		DescribeFn: func(args map[string]any, _ *msg.Call) (msg.Description, error) {
			return msg.Description{Target: text(args, "name")}, nil
		},
		Verify:    f.verify,
		TouchesFn: func(args map[string]any, _ *msg.Call) []string { return []string{text(args, "name")} },
	}
}

// brought says whether a file came from the person: a message shows it by its name, so the name never leads to other
// content later, and there is no copy to bring it back from.
func brought(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	return folder == blob.Uploads || folder == blob.Screens || folder == blob.Selections
}

// verify reads the file back: it is there and holds what was written, line endings aside.
func (f *Files) verify(_ context.Context, args map[string]any, _ any, _ *msg.Call) (msg.Outcome, error) {
	name := text(args, "name")
	file, err := f.o.Folder.Open(name)
	if errors.Is(err, blob.ErrNotFound) {
		return msg.Outcome{Detail: name + " is not there"}, nil
	}
	if err != nil {
		return msg.Outcome{}, err
	}
	defer file.Close()
	got, err := io.ReadAll(io.LimitReader(file, maxWrite+1))
	if err != nil {
		return msg.Outcome{}, err
	}
	if unix(string(got)) != unix(text(args, "content")) {
		return msg.Outcome{Detail: name + " does not hold what was written"}, nil
	}
	return msg.Outcome{OK: true}, nil
}

func unix(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
