package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sentient/actors/msg"
)

// bridgedTool is a tool as MCP lists it.
type bridgedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`
}

func bridged(tools []msg.ToolSchema) []bridgedTool {
	out := make([]bridgedTool, len(tools))
	for i, t := range tools {
		out[i] = bridgedTool{t.Name, t.Description, t.Parameters}
		if len(t.Parameters) == 0 {
			out[i].Input = json.RawMessage(`{"type":"object","properties":{}}`)
		}
	}
	return out
}

const (
	mcpVersion = "2025-06-18"
	refusal    = "Sentient runs this tool itself. End your turn now: the result comes with the next message."
)

type rpcRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version string `json:"protocolVersion"`
	} `json:"params"`
}

type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Bridge is the stdio MCP server (JSON-RPC 2.0, one message a line) that shows tools and answers every call of one with an error
// . It ends with its input.
func Bridge(tools []byte, in io.Reader, out io.Writer) error {
	var list []bridgedTool
	if err := json.Unmarshal(tools, &list); err != nil {
		return fmt.Errorf("the list of tools cannot be read: %w", err)
	}
	if list == nil {
		list = []bridgedTool{}
	}
	r, enc := bufio.NewReader(in), json.NewEncoder(out)
	for {
		line, err := readLine(r)
		if len(line) > 1 {
			if a, ok := answerRPC(line, list); ok {
				if err := enc.Encode(a); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answerRPC(line []byte, tools []bridgedTool) (a rpcAnswer, ok bool) {
	a.Version = "2.0"
	var q rpcRequest
	if err := json.Unmarshal(line, &q); err != nil || q.Method == "" {
		a.ID, a.Error = json.RawMessage("null"), &rpcError{-32700, "This is no request."}
		return a, err != nil
	}
	if len(q.ID) == 0 || string(q.ID) == "null" { // a notification is not answered
		return a, false
	}
	a.ID = q.ID
	switch q.Method {
	case "initialize":
		if q.Params.Version == "" {
			q.Params.Version = mcpVersion
		}
		a.Result = map[string]any{"protocolVersion": q.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": server, "version": "1"}}
	case "ping":
		a.Result = map[string]any{}
	case "tools/list":
		a.Result = map[string]any{"tools": tools}
	case "tools/call":
		a.Result = map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": refusal}}}
	default:
		a.Error = &rpcError{-32601, "There is no such method."}
	}
	return a, true
}
