// The public interface: reports, access letters and erasure proofs as HTML pages, and reports as
// OSCAL. PDFs are made by the separate entry `./printer`.

export { htmlReport } from './html/page.ts'
export { htmlDocument } from './html/plain-page.ts'
export { oscalReport } from './oscal/assessment-results.ts'
export { accessLetter, certificateDocument, manifestDocument } from './plain/plain-document.ts'
