// Pure: digests of the name of an item, and what a search finds of its value.

import type { ItemName } from '@custos/contract'
import { fromHex } from '../../../platform/bytes.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'

/** Digests the name of an item. Store ids are included: equal names in two stores share nothing. */
export function digestName(
  keys: Pick<TenantKeys, 'label'>,
  store_id: string,
  { namespace, key }: Pick<ItemName, 'namespace' | 'key'>,
) {
  return {
    name_mac: fromHex(keys.label(`item\n${JSON.stringify([store_id, namespace, key])}`)),
    namespace_mac: digestNamespace(keys, store_id, namespace),
  }
}

const digestNamespace = (
  keys: Pick<TenantKeys, 'label'>,
  store_id: string,
  namespace: readonly string[],
): Uint8Array => fromHex(keys.label(`item-namespace\n${JSON.stringify([store_id, namespace])}`))

const STEP = /([^.[\]]+)|\[(\*|\d+)\]/g

/** The text of a memory that is searched: its content or, for an item, the texts at its paths. */
export function searchedText({
  content,
  item,
}: {
  readonly content: string
  readonly item?: ItemName
}): string {
  const index = item?.index
  if (index === undefined) return content
  if (index === false) return ''
  const value: unknown = JSON.parse(content)
  return index.flatMap((path) => textsAt(value, path)).join('\n')
}

/** Finds the texts at `a.b`, `a[0]`, `a[*].b` or `a.*`. The path `$` is the whole value. */
function textsAt(value: unknown, path: string): string[] {
  if (path === '$') return [JSON.stringify(value)]
  let found: unknown[] = [value]
  for (const [, name, position] of path.matchAll(STEP)) {
    const step = name ?? position ?? ''
    found = found.flatMap((one) => childrenOf(one, step))
  }
  return found.flatMap((one) => {
    if (one === undefined || one === null) return []
    return [typeof one === 'string' ? one : JSON.stringify(one)]
  })
}

function childrenOf(value: unknown, step: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (step === '*') return Object.values(value)
  return Object.hasOwn(value, step) ? [Reflect.get(value, step)] : []
}
