// The methods of a client, from the text of the operation table.

import type { Pending } from './call-result.ts'
import type { Client } from './client.ts'
import { call, type Exchange, type Operation } from './exchange.ts'
import { items, pages } from './page-iterators.ts'
import { eventFrames } from './reply-events.ts'
import { file } from './reply-file.ts'
import { lines, sendLines } from './reply-lines.ts'

type Row = Operation<readonly unknown[], Pending<Record<string, unknown>>>

const camel = (words: string): string => words.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())

/**
 * Adds a member for each group of the table, with its operations as methods in camelCase. A line is
 * the name of a group or an operation of it: `path METHOD verb flags .items format=flag`. In the
 * path, `~` stands for the verb. Everything after the verb is optional.
 */
export function addGroups(client: Client, table: string): void {
  let group = ''
  let methods: Record<string, unknown> = {}
  for (const line of table.split('\n')) {
    const [first = '', method, verb = '', ...words] = line.split(' ')
    if (method) {
      const end = first.replace('~', `/${verb.replaceAll('_', '-')}`)
      const path = end[0] === '/' ? end : `/v1/${end}`
      // The generated table has only methods and members that an operation has.
      const row = { id: `${group}.${verb}`, method, path, ...membersOf(words) } as Row
      methods[camel(verb)] = methodOf(client, row)
    } else {
      group = first
      methods = {}
      Object.assign(client, { [camel(group)]: methods })
    }
  }
}

/** The members of an operation besides its id, method and path. */
function membersOf(words: readonly string[]): object {
  const members: Record<string, unknown> = {}
  for (const word of words) {
    const [format = '', flag] = word.split('=')
    if (flag) members['formats'] = Object.assign({ [format]: ANSWERS[flag] }, members['formats'])
    else if (word[0] === '.') members['items'] = word.slice(1)
    else for (const letter of word) Object.assign(members, MEMBERS[letter])
  }
  return members
}

/** The reader of an answer for each flag. */
const ANSWERS: Readonly<Record<string, (exchange: Exchange) => unknown>> = {
  l: lines,
  e: eventFrames,
  f: file,
}

/** The members that each flag adds to the operation. */
const MEMBERS: Readonly<Record<string, object>> = {
  b: { takes: 'body' },
  q: { takes: 'query' },
  2: { takes: 'both' },
  i: { idempotent: true },
  s: { safe: true },
  n: { send: sendLines },
  r: { raw: true },
  l: { answer: lines },
  e: { answer: eventFrames },
  f: { answer: file },
}

function methodOf(client: Client, row: Row) {
  const method = (...args: unknown[]) => call(client, row, ...args)
  if (row.items === undefined) return method
  return Object.assign(method, {
    all: (...args: unknown[]) => items(client, row, args),
    pages: (...args: unknown[]) => pages(client, row, args),
  })
}
