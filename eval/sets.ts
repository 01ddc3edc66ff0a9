// The evaluation sets by name: read from files beside the project, or generated.

import { join, resolve } from 'node:path'
import { readBeam } from './data/beam.ts'
import { CHATS, CHATS_SEED, CHATS_SHORT, makeChats } from './data/chats/chats.ts'
import type { Dataset } from './data/dataset.ts'
import { EVALUATION_LANGUAGES, makeLanguageSet } from './data/languages/languages.ts'
import { readLocomo } from './data/locomo.ts'
import { makeSynthetic, SYNTHETIC, SYNTHETIC_SHORT } from './data/synthetic.ts'

const SHARED = join(import.meta.dirname, '..', '..', 'shared', 'data')
export const LOCOMO_FILE = join(SHARED, 'locomo', 'locomo10.json')
export const BEAM_DIRECTORY = join(SHARED, 'beam-dev')

interface SetOptions {
  readonly locomo: string
  readonly beam: string
  /** The small generated sets. */
  readonly short: boolean
}

/** The sets of `choice`: a name, several with commas, or `all`. A missing file is reported. */
export function readSets(choice: string, { locomo, beam, short }: SetOptions): Dataset[] {
  const readers = new Map<string, () => Dataset | Dataset[] | string>([
    ['locomo', () => readLocomo(resolve(locomo)) ?? locomo],
    ['synthetic', () => makeSynthetic(short ? SYNTHETIC_SHORT : SYNTHETIC)],
    ['chats', () => makeChats(short ? CHATS_SHORT : CHATS, CHATS_SEED)],
    ['languages', () => EVALUATION_LANGUAGES.map(makeLanguageSet)],
    ['beam-user', () => readBeam(resolve(beam), 'beam-user') ?? beam],
    ['beam', () => readBeam(resolve(beam), 'beam') ?? beam],
  ])
  const names = choice === 'all' ? [...readers.keys()] : choice.split(',')
  return names.flatMap((name) => {
    const read = readers.get(name)
    if (!read) throw new Error(`there is no data ${name}: ${[...readers.keys(), 'all'].join(', ')}`)
    const set = read()
    if (typeof set !== 'string') return set
    console.log(`${name} is left out: it is not at ${set}`)
    return []
  })
}
