// The rows an operation leaves on PostgreSQL, of the same sizes, to be inserted without Custos.

/** Rows of one table that a unit inserts together. */
export interface RawInsert {
  readonly table: string
  readonly columns: readonly string[]
  /** Of the unit with this number, in the log of this tenant. */
  rows(tenant_id: string, unit: number): readonly (readonly unknown[])[]
}

/** Bytes as measured on the scenarios' own bodies. */
const SIZES = { breadcrumb: 400, decision: 1_120, fact: 800 }

const NOW_US = 1_700_000_000_000_000
const record = 'r'.repeat(SIZES.breadcrumb)
const decision = Buffer.alloc(SIZES.decision, 7)
const fact = Buffer.alloc(SIZES.fact, 7)

/** 16 bytes that no other unit of the tenant has. */
function idOf(unit: number): Buffer {
  const id = Buffer.alloc(16)
  id.writeBigUInt64BE(BigInt(unit))
  return id
}

const breadcrumb: RawInsert = {
  table: 'breadcrumbs',
  columns: ['tenant_id', 'seq', 'breadcrumb_id', 'record'],
  rows: (tenant_id, unit) => [[tenant_id, unit, idOf(unit), record]],
}

/** What one logged decision with three facts comes to. */
const decisionRows: readonly RawInsert[] = [
  {
    table: 'decisions',
    columns: [
      ...['tenant_id', 'seq', 'decision_id', 'logged_us', 'store_id', 'model_id'],
      ...['session_label', 'secret_no', 'token_count', 'latency_ms', 'memory_seq', 'sealed'],
    ],
    rows: (tenant_id, unit) => [
      [
        ...[tenant_id, unit, idOf(unit), NOW_US + unit, 'default', 'model-1'],
        ...[idOf(unit % 50), unit, 180, 412.5, unit, decision],
      ],
    ],
  },
  {
    table: 'decision_facts',
    columns: ['tenant_id', 'ref', 'decision_seq', 'bound'],
    rows: (tenant_id, unit) => [1, 2, 3].map((ref) => [tenant_id, ref, unit, 1]),
  },
  breadcrumb,
]

/** What `count` memories written together come to. */
function factRows(count: number): readonly RawInsert[] {
  const refs = (unit: number) => Array.from({ length: count }, (_, i) => unit * count + i)
  return [
    {
      table: 'facts',
      columns: [
        ...['tenant_id', 'ref', 'store_id', 'written_seq', 'written_us'],
        ...['token_count', 'state', 'sealed_seq', 'sealed'],
      ],
      rows: (tenant_id, unit) =>
        refs(unit).map((ref) => {
          const written = ['default', unit, NOW_US + unit]
          return [tenant_id, ref, ...written, 40, 0, unit, fact]
        }),
    },
    {
      table: 'validity',
      columns: ['tenant_id', 'store_id', 'ref', 'from_seq', 'valid_from_us'],
      rows: (tenant_id, unit) =>
        refs(unit).map((ref) => [tenant_id, 'default', ref, unit, NOW_US + unit]),
    },
    breadcrumb,
  ]
}

/** By the name of the scenario; reading ones have none. */
export const rawRows: Readonly<Record<string, readonly RawInsert[]>> = {
  'decision log': decisionRows,
  write: factRows(1),
  'write_batch of 100': factRows(100),
}
