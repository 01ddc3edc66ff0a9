// The API explorer: operations of /openapi.json by group, and a form that sends them.

const byId = (id) => document.getElementById(id)
const page = { operations: byId('operations'), main: byId('operation'), key: byId('key') }
/** The OpenAPI document, once it is loaded. */
let api = {}

/** Resolves a reference, merged with the members beside it; returns anything else unchanged. */
function resolve(part) {
  if (!part?.$ref) return part
  const names = part.$ref.slice(2).split('/')
  const { $ref: _, ...beside } = part
  return { ...resolve(names.reduce((at, name) => at[name], api)), ...beside }
}

/** Replaces the references in a schema by the schemas that they name. */
function inFull(schema) {
  if (Array.isArray(schema)) return schema.map(inFull)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(resolve(schema))
  return Object.fromEntries(members.map(([name, member]) => [name, inFull(member)]))
}

/** Creates an element with attributes and children. Strings become text nodes, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value)
  element.append(...children.filter((child) => child !== undefined && child !== null))
  return element
}

start().catch((error) => {
  page.main.replaceChildren(make('p', { class: 'error', role: 'alert' }, String(error.message)))
})

async function start() {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`/openapi.json answered ${response.status}`)
  api = await response.json()
  byId('version').textContent = api.info.version
  const operations = listOperations()
  byId('credential').addEventListener('submit', (event) => event.preventDefault())
  byId('filter').addEventListener('input', (event) => list(operations, event.target.value))
  window.addEventListener('hashchange', () => open(operations))
  list(operations, '')
  open(operations)
}

function listOperations() {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
      group: operation.tags[0],
    })),
  )
}

function list(operations, wanted) {
  const words = wanted.toLowerCase().split(/\s+/)
  const shown = operations.filter((operation) => {
    const { operationId, path, summary, method } = operation
    const text = `${operationId} ${method} ${path} ${summary} ${operation['x-scope'] ?? ''}`
    return words.every((word) => text.toLowerCase().includes(word))
  })
  const groups = Map.groupBy(shown, ({ group }) => group)
  page.operations.replaceChildren(
    ...[...groups].map(([group, members]) =>
      make('section', {}, make('h2', {}, group), make('ul', {}, ...members.map(entry))),
    ),
  )
  if (shown.length === 0) page.operations.append(make('p', { class: 'quiet' }, 'Nothing found.'))
  markCurrent()
}

const entry = ({ operationId, method, path }) =>
  make(
    'li',
    {},
    make(
      'a',
      { href: `#${operationId}`, title: operationId },
      make('span', { class: 'method' }, method),
      ` ${path}`,
    ),
  )

function markCurrent() {
  for (const link of page.operations.querySelectorAll('a')) {
    if (link.hash === location.hash) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

function open(operations) {
  const operation = operations.find(({ operationId }) => `#${operationId}` === location.hash)
  markCurrent()
  if (!operation) return
  document.title = `${operation.operationId} · Custos API`
  page.main.replaceChildren(...describe(operation), ...form(operation))
  page.main.focus()
}

function describe(operation) {
  const { method, path, summary, description, operationId } = operation
  const facts = [
    ['Operation', make('code', {}, operationId)],
    ['Access', accessText(operation['x-access'])],
    ['Scope', make('code', {}, operation['x-scope'] ?? 'none')],
  ]
  return [
    make('h2', { class: 'title' }, make('span', { class: 'method' }, method), ` ${path}`),
    make('p', {}, summary),
    description && make('p', { class: 'quiet' }, description),
    make(
      'dl',
      {},
      ...facts.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
    ),
    ...schemas(operation),
    refusals(operation),
  ].filter(Boolean)
}

const ACCESS = {
  public: 'anybody, without a key',
  tenant: 'a tenant key',
  operator: 'a platform operator',
  operator_or_self: 'a platform operator, or the tenant itself',
  either: 'any key',
}
const accessText = (access) => ACCESS[access] ?? access

function schemas({ requestBody, responses }) {
  const body = requestBody && Object.entries(requestBody.content)[0]
  const [status, success] = Object.entries(responses).find(([code]) => code.startsWith('2'))
  const reply = Object.entries(success.content)[0]
  return [
    body && schemaDetails(`Body (${body[0]})`, body[1].schema),
    schemaDetails(`Answer ${status} (${reply[0]})`, reply[1].schema),
  ]
}

const schemaDetails = (title, schema) =>
  schema &&
  make(
    'details',
    {},
    make('summary', {}, title),
    make('pre', { tabindex: '0' }, JSON.stringify(inFull(schema), null, 2)),
  )

function refusals({ responses }) {
  const rows = Object.entries(responses).filter(([status]) => !status.startsWith('2'))
  const lines = rows.map(([status, response]) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, status),
      make('td', {}, ...lineBreaks(refusalText(response))),
    ),
  )
  return make(
    'details',
    {},
    make('summary', {}, 'Refusals'),
    make('table', {}, make('tbody', {}, ...lines)),
  )
}

/** The refusals of one status: those of the operation, and those that it shares with others. */
function refusalText({ $ref, description }) {
  const shared = resolve({ $ref }).description
  return (description ?? shared).replace('Also the shared refusals', shared)
}

const lineBreaks = (text) =>
  text.split('\n\n').flatMap((line) => [line.replaceAll('`', ''), make('br')])

function form(operation) {
  const parameters = (operation.parameters ?? []).map((parameter) => field(resolve(parameter)))
  const body = bodyField(operation)
  const send = make('button', { type: 'submit' }, `Send ${operation.method}`)
  const curl = make('pre', { tabindex: '0', 'aria-label': 'curl command' })
  const answer = make('div', { 'aria-live': 'polite' })
  const element = make(
    'form',
    { 'aria-label': 'Request' },
    make('h3', {}, 'Try it'),
    ...parameters.map(({ row }) => row),
    body?.row,
    send,
  )
  const request = () => buildRequest(operation, parameters, body)
  const refresh = () => {
    curl.textContent = curlOf(request())
  }
  element.addEventListener('input', refresh)
  page.key.oninput = refresh
  element.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    answer.replaceChildren(make('p', { class: 'quiet' }, 'Waiting for the answer …'))
    answer.replaceChildren(...(await exchange(request())))
    send.disabled = false
  })
  refresh()
  return [element, make('h3', {}, 'As a command'), curl, make('h3', {}, 'Answer'), answer]
}

function field({ name, in: where, required, schema, example, description }) {
  const id = `${where}-${name}`
  const fallback = where === 'path' && example !== undefined ? String(example) : undefined
  const input = make('input', {
    id,
    value: fallback,
    required: required ? '' : undefined,
    'aria-describedby': `${id}-note`,
    autocomplete: 'off',
  })
  const star = required ? ' *' : ''
  const row = make(
    'div',
    { class: 'field' },
    make('label', { for: id }, make('code', {}, name), star),
    input,
    make(
      'small',
      { id: `${id}-note` },
      [where, typeText(schema), description].filter(Boolean).join(' · '),
    ),
  )
  return { name, where, input, row }
}

function typeText(part = {}) {
  const schema = resolve(part)
  const parts = [schema.enum ? schema.enum.join(' | ') : (schema.type ?? '')]
  if (schema.format) parts.push(schema.format)
  if (schema.minimum !== undefined) parts.push(`≥ ${schema.minimum}`)
  if (schema.maximum !== undefined) parts.push(`≤ ${schema.maximum}`)
  if (schema.default !== undefined) parts.push(`default ${schema.default}`)
  return parts.filter(Boolean).join(', ')
}

function bodyField({ requestBody }) {
  if (!requestBody) return null
  const [type, { example }] = Object.entries(requestBody.content)[0]
  const text = example === undefined ? '' : JSON.stringify(example, null, isLines(type) ? 0 : 2)
  const input = make('textarea', { id: 'body', spellcheck: 'false' })
  input.value = text
  const row = make('div', {}, make('label', { for: 'body' }, `Body (${type})`), input)
  return { type, input, row }
}

const isLines = (type) => type === 'application/x-ndjson'

function buildRequest({ method, path }, parameters, body) {
  const filled = (where) =>
    parameters.filter((parameter) => parameter.where === where && parameter.input.value !== '')
  let target = path
  for (const { name, input } of filled('path'))
    target = target.replace(`{${name}}`, encodeURIComponent(input.value))
  const query = new URLSearchParams(filled('query').map(({ name, input }) => [name, input.value]))
  const headers = Object.fromEntries(filled('header').map(({ name, input }) => [name, input.value]))
  const text = body?.input.value.trim() ?? ''
  if (text !== '') headers['Content-Type'] = body.type
  const url = query.size > 0 ? `${target}?${query}` : target
  return { method, url, headers, body: text === '' ? undefined : text }
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** The request as a shell command; the key is named, not shown. */
function curlOf({ method, url, headers, body }) {
  const lines = [`curl -X ${method} ${quote(location.origin + url)}`]
  if (page.key.value !== '') lines.push('-H "Authorization: Bearer $CUSTOS_KEY"')
  for (const [name, value] of Object.entries(headers))
    lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) lines.push(`--data-binary ${quote(body)}`)
  return lines.join(' \\\n  ')
}

async function exchange({ method, url, headers, body }) {
  const key = page.key.value.trim()
  const credential = key === '' ? {} : { Authorization: `Bearer ${key}` }
  const started = performance.now()
  try {
    const response = await fetch(url, { method, headers: { ...headers, ...credential }, body })
    const answer = await shown(response)
    const ms = Math.round(performance.now() - started)
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const status = `${response.status} ${response.statusText}`.trim()
    return [
      make('p', { class: response.ok ? '' : 'error' }, make('strong', {}, status), ` in ${ms} ms`),
      make('details', {}, make('summary', {}, 'Headers'), make('pre', { tabindex: '0' }, head)),
      answer,
    ]
  } catch (error) {
    return [make('p', { class: 'error', role: 'alert' }, `No answer: ${error.message}`)]
  }
}

/** The body as text or, for a PDF file, a link to download it. */
async function shown(response) {
  if (response.headers.get('content-type') !== 'application/pdf')
    return make(
      'pre',
      { tabindex: '0', 'aria-label': 'Body of the answer' },
      pretty(await response.text()),
    )
  const file = await response.blob()
  const [, download = 'file.pdf'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const link = { href: URL.createObjectURL(file), download }
  return make('p', {}, make('a', link, download), `, ${file.size} bytes`)
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text.length > 200_000 ? `${text.slice(0, 200_000)}\n…` : text
  }
}
