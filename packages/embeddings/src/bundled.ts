// The bundled model, which is read from its file and verified on first use.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StaticModel } from './static-model.ts'

/** Name the vector space. A change of any vector needs a new version. */
export const MODEL = 'custos-static'
export const VERSION = '1'
export const DIMENSIONS = 256

const FILE = new URL('../model/custos-static-1.bin', import.meta.url)
const SHA256 = '5f6ead56f98f398ce31f8cfdaebc219b7e9247e721058cac8f3d8b32f7199a0c'

let loaded: StaticModel | undefined

/** The bundled model. The first call reads 8 MB, and throws if they are not the released bytes. */
export function loadModel(): StaticModel {
  loaded ??= parseBundled(readFileSync(FILE))
  return loaded
}

/** Parses the model. Throws if `bytes` are not those of the bundled file. */
export function parseBundled(bytes: Uint8Array): StaticModel {
  const digest = createHash('sha256').update(bytes).digest('hex')
  if (digest !== SHA256) throw new Error(`the embedding model is damaged: its SHA-256 is ${digest}`)
  return new StaticModel(bytes)
}
