// Reads what the scripted model server says with the vendors' own clients and prints what they understood, as one JSON line.
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";

const [protocol, base, key] = process.argv.slice(2);
const tool = { name: "get_weather", description: "The weather.", schema: { type: "object", properties: { city: { type: "string" } } } };
const out = { text: "", thinking: "", signature: "", calls: [], stop: "", usage: null, error: null, models: [] };

async function openai() {
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: key, maxRetries: 0 });
  for await (const m of await client.models.list()) out.models.push(m.id);
  const stream = client.chat.completions.stream({
    model: "m", messages: [{ role: "system", content: "S" }, { role: "user", content: "hi" }],
    tools: [{ type: "function", function: { name: tool.name, description: tool.description, parameters: tool.schema } }],
    stream_options: { include_usage: true },
  });
  stream.on("chunk", (c) => { out.thinking += c.choices[0]?.delta?.reasoning_content ?? ""; });
  const whole = await stream.finalChatCompletion();
  const choice = whole.choices[0];
  out.text = choice.message.content ?? "";
  out.calls = (choice.message.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, arguments: c.function.arguments }));
  out.stop = choice.finish_reason;
  out.usage = { prompt: whole.usage.prompt_tokens, completion: whole.usage.completion_tokens, cached: whole.usage.prompt_tokens_details.cached_tokens };
}

async function anthropic() {
  const client = new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0 });
  for await (const m of client.models.list()) out.models.push(m.id);
  const stream = client.messages.stream({
    model: "m", max_tokens: 100, system: "S", messages: [{ role: "user", content: "hi" }],
    tools: [{ name: tool.name, description: tool.description, input_schema: tool.schema }],
  });
  const whole = await stream.finalMessage();
  for (const b of whole.content) {
    if (b.type === "text") out.text += b.text;
    if (b.type === "thinking") { out.thinking += b.thinking; out.signature += b.signature; }
    if (b.type === "tool_use") out.calls.push({ id: b.id, name: b.name, arguments: JSON.stringify(b.input) });
  }
  out.stop = whole.stop_reason;
  const u = whole.usage;
  out.usage = { prompt: u.input_tokens + u.cache_read_input_tokens + u.cache_creation_input_tokens, completion: u.output_tokens, cached: u.cache_read_input_tokens };
}

try {
  await (protocol === "openai" ? openai() : anthropic());
} catch (e) {
  out.error = { name: e.constructor.name, status: e.status ?? 0, message: String(e.message) };
}
console.log(JSON.stringify(out));
