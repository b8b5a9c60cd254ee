// What the first run recommends, and why. Pure.

import type { Hardware, Recommendation } from './models'

export interface Named { model: string; label: string }

// preferred is the model that is chosen beforehand: the recommended one where it is here, else the first. Where a cloud model is
// what this computer should use, nothing is chosen for the person.
export function preferred(here: readonly Named[], advice: Recommendation | null): string {
  if (advice?.cloud_first) return ''
  return (here.find(m => m.model === advice?.model) ?? here[0])?.model ?? ''
}

// toDownload is the name of the recommended model when Ollama could bring it; "" when it is here or should not be used.
export function toDownload(here: readonly Named[], advice: Recommendation | null, ollama: boolean): string {
  return ollama && advice && !advice.cloud_first && !here.some(m => m.model === advice.model) ? advice.name : ''
}

// standIn is the model on this computer that can answer when a cloud model cannot; "" when there is none that fits.
export function standIn(here: readonly Named[], advice: Recommendation | null): string {
  return advice && !advice.cloud_first && here.some(m => m.model === advice.model) ? advice.model : ''
}

const sentence = (s: string) => (s && !/[.!?]$/.test(s) ? s + '.' : s)

// localAdvice says in a sentence or two what to run here, and why; "" when nothing is known of this computer.
export function localAdvice(h: Hardware | null): string {
  if (!h) return ''
  const a = h.recommendation
  if (a.cloud_first) return sentence(a.note)
  const why = sentence(a.note)
  return `Recommended for this computer: ${sentence(a.summary)}${why ? ' ' + why : ''}${h.summary && h.summary !== 'unknown' ? ` It has: ${sentence(h.summary)}` : ''}`
}

// cloudAdvice says why a cloud model is what this computer should use; "" when it is not.
export const cloudAdvice = (h: Hardware | null) => (h?.recommendation.cloud_first ? `Recommended for this computer${h.summary && h.summary !== 'unknown' ? `: it has ${sentence(h.summary)}` : '.'}` : '')

// contextLength is what a model of Ollama should read at once here; null leaves the setting as it is.
export function contextLength(model: string, advice: Recommendation | null): number | null {
  return /^ollama(_chat)?\//.test(model) && advice && !advice.cloud_first ? advice.context_length : null
}
