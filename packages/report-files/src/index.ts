// The face of the package: a signed report as a page, and as OSCAL assessment results.

export { htmlReport } from './html/page.ts'
export { oscalReport } from './oscal/assessment-results.ts'
