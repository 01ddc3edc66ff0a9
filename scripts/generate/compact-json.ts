// Writes compact JSON that still has useful line diffs: short values stay on one line.

const COLUMNS = 200

/** The JSON text of a value, without a final line break. */
export function compactJson(value: unknown, indent = '', taken = 0): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return line
  if (indent.length + taken + line.length < COLUMNS) return line
  const inner = `${indent} `
  if (Array.isArray(value)) {
    const items = value.map((item) => compactJson(item, inner))
    const isList = value.every((item) => typeof item !== 'object')
    return `[\n${isList ? filled(items, inner) : inner + items.join(`,\n${inner}`)}\n${indent}]`
  }
  const members = Object.entries(value).map(([name, member]) => {
    const key = `${JSON.stringify(name)}:`
    return inner + key + compactJson(member, inner, key.length)
  })
  return `{\n${members.join(',\n')}\n${indent}}`
}

/** Puts as many items on a line as fit. */
function filled(items: readonly string[], indent: string): string {
  const lines: string[] = []
  let line = indent
  for (const item of items) {
    if (line !== indent && line.length + item.length >= COLUMNS) {
      lines.push(line)
      line = indent
    }
    line += `${item},`
  }
  return [...lines, line.slice(0, -1)].join('\n')
}
