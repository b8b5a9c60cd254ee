// Package nodes owns a person's devices: identity and pairing, the device protocol, discovery, voice sessions. It is empty
// until the first device can be paired; the engine then starts it beside the gateway.
package nodes
