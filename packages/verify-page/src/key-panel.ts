// The panel of trusted keys: their sources, and a fingerprint to compare.

import {
  canonicalBytes,
  type PublishedKey,
  readKeyList,
  sha256,
  toHex,
  trustedKeys,
} from '@custos/proof'
import { button, disclosure, el, pasteField } from './dom.ts'
import { fill, texts } from './texts.ts'

/** The path of the key list, which is public and needs no credential. */
const KEYS_PATH = '/v1/gcrumbs/public_key'
const PAGE_PATH = /^\/verify\/?$/

interface KeySource {
  readonly name: string
  readonly origin: 'file' | 'bundle' | 'pasted' | 'server'
  readonly keys: readonly PublishedKey[]
}

interface KeyPanel {
  readonly element: HTMLElement
  /** The keys of all sources. */
  keys(): readonly PublishedKey[]
  add(source: KeySource): void
  clear(): void
}

/** @param changed called after keys were added or removed */
export function keyPanel(changed: () => void): KeyPanel {
  let sources: readonly KeySource[] = []
  const list = el('div', { class: 'sources' })
  const problem = el('p', { class: 'problem', role: 'alert' })
  const update = (next: readonly KeySource[]) => {
    sources = next
    problem.textContent = ''
    list.replaceChildren(
      ...(sources.length === 0
        ? [el('p', {}, texts.keys_none)]
        : sources.map((one) => sourceView(one, () => remove(one)))),
    )
  }
  const remove = (gone: KeySource) => {
    update(sources.filter((one) => one !== gone))
    changed()
  }
  const add = (source: KeySource) =>
    update([...sources.filter(({ name }) => name !== source.name), source])
  const take = (source: KeySource): boolean => {
    if (source.keys.length === 0) problem.textContent = texts.keys_refused
    else {
      add(source)
      changed()
    }
    return source.keys.length > 0
  }
  const paste = () =>
    pasteField('keys-text', { label: texts.keys_label, action: texts.keys_add }, (text) =>
      take({ name: texts.keys_pasted, origin: 'pasted', keys: keysOfText(text) }),
    )
  const ask = async () => {
    try {
      take({ name: texts.server, origin: 'server', keys: await fetchKeys() })
    } catch (error) {
      const why = error instanceof Error ? error.message : ''
      problem.textContent = fill(texts.keys_failed, { why })
    }
  }
  const element = el(
    'section',
    { class: 'panel', 'aria-labelledby': 'keys-title' },
    el('h2', { id: 'keys-title' }, texts.keys),
    list,
    el('p', { class: 'quiet' }, texts.keys_advice),
    isServed() ? button(texts.keys_fetch, () => void ask()) : null,
    disclosure(texts.keys_paste, paste),
    problem,
  )
  update([])
  return { element, add, clear: () => update([]), keys: () => sources.flatMap(({ keys }) => keys) }
}

const isServed = (): boolean =>
  location.protocol.startsWith('http') && PAGE_PATH.test(location.pathname)

async function fetchKeys(): Promise<readonly PublishedKey[]> {
  const response = await fetch(KEYS_PATH, { credentials: 'omit', cache: 'no-store' })
  if (!response.ok) throw new Error(String(response.status))
  return readKeyList(await response.text())
}

function keysOfText(text: string): readonly PublishedKey[] {
  const bare = text.trim()
  return /^[0-9a-fA-F]{64}$/.test(bare) ? trustedKeys(bare) : readKeyList(text)
}

function sourceView({ name, origin, keys }: KeySource, remove: () => void): HTMLElement {
  const note =
    origin === 'server' ? texts.keys_server : origin === 'bundle' ? texts.keys_bundle : null
  return el(
    'div',
    { class: 'source' },
    el(
      'div',
      {},
      el('p', {}, el('b', {}, name), ` · ${fill(texts.keys_count, { n: keys.length })}`),
      el('p', { class: 'quiet' }, `${texts.fingerprint} `, el('code', {}, fingerprintOf(keys))),
      note === null ? null : el('p', { class: 'note' }, note),
    ),
    button(texts.remove, remove, 'quiet'),
  )
}

/** The first half of SHA-256 over the canonical form of the listed keys, in groups of four. */
function fingerprintOf(keys: readonly PublishedKey[]): string {
  const bare = keys.map(({ key_id, purpose, public_key, valid_from, retired_at }) => ({
    key_id,
    purpose,
    public_key,
    valid_from,
    retired_at,
  }))
  const digest = toHex(sha256(canonicalBytes(bare))).slice(0, 32)
  return digest.replace(/(.{4})(?=.)/g, '$1 ')
}
