// Every document that differs from a genuine one in one member: for verifiers to refuse.

type Value = ReturnType<typeof JSON.parse>

const WAYS = ['drop', 'null', 'change', 'respell'] as const

/** With the way and the place of each. One that is no change of the value is left out. */
export function* alterations(document: Value): Generator<[string, Value]> {
  for (const path of pathsOf(document))
    for (const way of WAYS) {
      const altered = structuredClone(document)
      const last = path.at(-1) ?? ''
      const holder = path.slice(0, -1).reduce((value, name) => value[name], altered)
      const before = holder[last]
      if (way !== 'drop') holder[last] = way === 'null' ? null : rewritten(way, before)
      else if (Array.isArray(holder)) holder.splice(Number(last), 1)
      else delete holder[last]
      if (way === 'drop' || holder[last] !== before) yield [`${way} ${path.join('.')}`, altered]
    }
}

const pathsOf = (value: Value, path: readonly string[] = []): (readonly string[])[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.keys(value).flatMap((name) => {
        const inside = [...path, name]
        return [inside, ...pathsOf(value[name], inside)]
      })

function rewritten(way: 'change' | 'respell', value: Value): Value {
  if (typeof value === 'string') return way === 'change' ? changed(value) : respelled(value)
  if (way === 'respell') return value
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (value === null) return '0'
  return Array.isArray(value) ? [...value, '0'] : { ...value, added: '0' }
}

const changed = (text: string): string => `${text.startsWith('0') ? 1 : 0}${text.slice(1)}`

/** What a lenient decoder of hex, base64 or times reads as the same value. */
const respelled = (text: string): string =>
  /^[0-9a-f]*[a-f][0-9a-f]*$/.test(text) ? text.toUpperCase() : text.replace(/(T|=*$)/, ' $1')
