// A PostgreSQL database as plain SQL text, and back. No pg_dump: it would have to be of the
// server's version, and npm does not bring it.

import assert from 'node:assert/strict'
import { onPostgres, type Query, type Row } from './postgres-client.ts'

/** The role that requests run under; it belongs to the server, so it may be there already. */
const ROLE = 'custos_app'
const MAKE_ROLE = `DO $$ BEGIN
  CREATE ROLE ${ROLE} NOLOGIN NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;`

const SCHEMAS = `('public', 'custos_keyring')`
/** What the text would leave out. */
const UNKNOWN = `select
  (select count(*) from pg_proc where pronamespace::regnamespace::text in ${SCHEMAS})
  + (select count(*) from pg_trigger where not tgisinternal)
  + (select count(*) from pg_class where relkind not in ('r', 'i', 'S', 't')
      and relnamespace::regnamespace::text in ${SCHEMAS}) as count`

const TABLES = `select c.oid::text as oid, c.oid::regclass::text as name,
    c.relrowsecurity::text as secured, c.relforcerowsecurity::text as forced,
    array_to_string(c.reloptions, ', ') as options
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname in ${SCHEMAS} order by n.nspname desc, c.relname`

const columnsOf = (oid: string) => `select quote_ident(attname) as name,
    format_type(atttypid, atttypmod) as type,
    case when attcollation <> typcollation then collname end as collation,
    attnotnull::text as required, attidentity::text as identity,
    pg_get_expr(adbin, adrelid) as value
  from pg_attribute a join pg_type t on t.oid = atttypid
    left join pg_collation l on l.oid = attcollation
    left join pg_attrdef d on adrelid = attrelid and adnum = attnum
  where attrelid = ${oid} and attnum > 0 and not attisdropped order by attnum`

const constraintsOf = (oid: string) => `select quote_ident(conname) as name,
    pg_get_constraintdef(oid) as definition
  from pg_constraint where conrelid = ${oid} and contype <> 'n' order by contype desc, conname`

const indexesOf = (oid: string) => `select pg_get_indexdef(indexrelid) as definition
  from pg_index i where indrelid = ${oid}
    and not exists (select from pg_constraint where conindid = indexrelid)
  order by 1`

const policiesOf = (oid: string) => `select quote_ident(polname) as name,
    pg_get_expr(polqual, polrelid) as shown, pg_get_expr(polwithcheck, polrelid) as written,
    (polcmd = '*' and polpermissive and polroles = '{0}')::text as plain
  from pg_policy where polrelid = ${oid} order by polname`

const grantsOf = (oid: string) => `select lower(g.privilege_type)
      || coalesce(' (' || string_agg(quote_ident(g.attname), ', ' order by g.attname) || ')', '')
      as rights
  from (select (aclexplode(relacl)).*, null::name as attname from pg_class where oid = ${oid}
    union all
    select (aclexplode(attacl)).*, attname from pg_attribute where attrelid = ${oid}) g
  where g.grantee = to_regrole('${ROLE}')
  group by g.privilege_type, g.attname is null order by 1`

/** Schema, rights and rows, in an order that is the same each time. */
export function dumpPostgres(url: string): Promise<string> {
  return onPostgres(url, async (query) => {
    const [{ count } = {}] = await query(UNKNOWN)
    assert.equal(count, '0', 'only tables and indexes are dumped')
    const tables = await query(TABLES)
    const parts = [MAKE_ROLE, 'BEGIN;', 'CREATE SCHEMA custos_keyring;']
    parts.push(`GRANT USAGE ON SCHEMA public TO ${ROLE};`)
    for (const table of tables) parts.push(await createTable(query, table))
    for (const table of tables) parts.push(...(await rowsOf(query, table)))
    for (const table of tables) parts.push(...(await afterRows(query, table)))
    return [...parts, 'COMMIT;\n'].join('\n')
  })
}

/** Into an empty database, as somebody who may make roles. */
export async function loadPostgres(url: string, text: string): Promise<void> {
  await onPostgres(url, (query) => query(text))
}

const textOf = (row: Row, name: string): string => row[name] ?? ''

async function createTable(query: Query, table: Row): Promise<string> {
  const columns = await query(columnsOf(textOf(table, 'oid')))
  const lines = columns.map((column) =>
    [
      ...[column['name'], column['type']],
      column['collation'] === null ? '' : `COLLATE "${column['collation']}"`,
      column['required'] === 'true' ? 'NOT NULL' : '',
      column['identity'] === 'a' ? 'GENERATED ALWAYS AS IDENTITY' : '',
      column['value'] === null ? '' : `DEFAULT ${column['value']}`,
    ]
      .filter((word) => word !== '')
      .join(' '),
  )
  const constraints = await query(constraintsOf(textOf(table, 'oid')))
  for (const { name, definition } of constraints) lines.push(`CONSTRAINT ${name} ${definition}`)
  const options = table['options'] === null ? '' : ` WITH (${table['options']})`
  return `CREATE TABLE ${table['name']} (\n  ${lines.join(',\n  ')}\n)${options};`
}

async function rowsOf(query: Query, { oid, name }: Row): Promise<string[]> {
  const columns = await query(columnsOf(oid ?? ''))
  const shown = columns.map((column) => `${literalOf(column)} as ${column['name']}`)
  const rows = await query(`select ${shown.join(', ')} from ${name}`)
  const lines = rows.map((row) => `(${Object.values(row).join(',')})`).sort()
  if (lines.length === 0) return []
  const counted = columns.find(({ identity }) => identity === 'a')
  const insert = `INSERT INTO ${name} ${counted ? 'OVERRIDING SYSTEM VALUE ' : ''}VALUES`
  const values = `${insert}\n${lines.join(',\n')};`
  if (!counted) return [values]
  const sequence = `pg_get_serial_sequence('${name}', '${counted['name']}')`
  const newest = `(SELECT max(${counted['name']}) FROM ${name})`
  return [values, `SELECT setval(${sequence}, ${newest});`]
}

/** An expression that writes a value as SQL reads it. */
function literalOf({ name, type }: Row): string {
  if (type === 'bytea') return `coalesce('''\\x' || encode(${name}, 'hex') || '''', 'NULL')`
  if (type === 'bigint' || type === 'double precision') return `coalesce(${name}::text, 'NULL')`
  assert.ok(type === 'text' || type?.startsWith('timestamp'), `a column of type ${type}`)
  return `quote_nullable(${name}::text)`
}

async function afterRows(query: Query, table: Row): Promise<string[]> {
  const { oid, name } = { oid: textOf(table, 'oid'), name: table['name'] }
  const parts = (await query(indexesOf(oid))).map(({ definition }) => `${definition};`)
  if (table['secured'] === 'true') parts.push(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;`)
  if (table['forced'] === 'true') parts.push(`ALTER TABLE ${name} FORCE ROW LEVEL SECURITY;`)
  for (const policy of await query(policiesOf(oid))) {
    assert.equal(policy['plain'], 'true', `the policy ${policy['name']} is of another kind`)
    const checks = `USING (${policy['shown']}) WITH CHECK (${policy['written']})`
    parts.push(`CREATE POLICY ${policy['name']} ON ${name} ${checks};`)
  }
  for (const { rights } of await query(grantsOf(oid)))
    parts.push(`GRANT ${rights} ON ${name} TO ${ROLE};`)
  return parts
}
