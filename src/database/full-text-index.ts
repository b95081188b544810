// An index of texts in memory: SQLite's FTS5 folds the words, ranks the rows and cuts the snippets.
import { Database as Connection } from "bun:sqlite";

const QUERY_CHARACTERS_MAX = 1_000;
/** Maximum words of a query; later ones are ignored. */
const WORDS_MAX = 32;
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
const TITLE_WEIGHT = 5;
const SNIPPET_WORDS = 32;
/** Maximum rows that a search ranks, since one costs a microsecond of the event loop. */
const RANKED_ROWS_MAX = 2_000;
/** Maximum rows counted for a word; more make it no more frequent. */
const COUNTED_ROWS_MAX = 10_000;

export interface FullTextRow {
  title: string;
  url: string;
  /** Two lower-case letters; null matches every language. */
  language: string | null;
  text: string;
}

export interface FullTextQuery {
  limit: number;
  language: string | null;
}

export interface FullTextResult {
  title: string;
  url: string;
  snippet: string;
}

export class FullTextIndex {
  readonly #connection = new Connection(":memory:", { create: true, strict: true });
  readonly #statements = createStatements(this.#connection);

  /** Runs `work` in one transaction, which is much cheaper than one for each row. */
  write<R>(work: () => R): R {
    return this.#connection.transaction(work)();
  }

  /** Returns the number by which the row is removed. */
  add({ title, url, language, text }: FullTextRow): number {
    return Number(this.#statements.add.run(title, text, url, language).lastInsertRowid);
  }

  remove(row: number): void {
    this.#statements.remove.run(row);
  }

  /** Finds the best row of each url, the best first. No character of the query has a meaning. */
  search(query: string, { limit, language }: FullTextQuery): FullTextResult[] {
    const { find, cut } = this.#statements;
    const match = this.#writeMatch(query);
    if (match === "") return [];
    return find.all(match, language, limit).map(({ row, title, url }) => {
      return { title, url, snippet: cut.get(match, row)?.snippet ?? "" };
    });
  }

  close(): void {
    this.#connection.close();
  }

  /** Takes the rarest words first; frequent ones are left out once ranking would take long. */
  #writeMatch(query: string): string {
    const words = new Set(query.slice(0, QUERY_CHARACTERS_MAX).toLowerCase().match(WORD));
    const counted = [...words].slice(0, WORDS_MAX).map((word) => {
      const term = `"${word}"`;
      return { term, rows: this.#statements.count.get(term)?.count ?? 0 };
    });
    counted.sort((a, b) => a.rows - b.rows);
    let ranked = 0;
    const terms: string[] = [];
    for (const { term, rows } of counted) {
      if (ranked > 0 && ranked + rows > RANKED_ROWS_MAX) break;
      ranked += rows;
      terms.push(term);
    }
    return terms.join(" OR ");
  }
}

function createStatements(connection: Connection) {
  connection.run(
    `CREATE VIRTUAL TABLE pages USING fts5(title, text, url UNINDEXED, language UNINDEXED,
     tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'")`,
  );
  return {
    add: connection.query("INSERT INTO pages (title, text, url, language) VALUES (?, ?, ?, ?)"),
    remove: connection.query("DELETE FROM pages WHERE rowid = ?"),
    count: connection.query<{ count: number }, [string]>(
      `SELECT count(*) count FROM
       (SELECT 1 FROM pages WHERE pages MATCH ? LIMIT ${COUNTED_ROWS_MAX})`,
    ),
    find: connection.query<
      { row: number; title: string; url: string },
      [string, string | null, number]
    >(
      `SELECT rowid AS row, title, url, min(rank) AS best FROM pages
       WHERE pages MATCH ?1 AND rank MATCH 'bm25(${TITLE_WEIGHT}.0, 1.0)'
       AND (?2 IS NULL OR language IS NULL OR language = ?2)
       GROUP BY url ORDER BY best, rowid LIMIT ?3`,
    ),
    // FTS5 cuts no snippets of grouped rows.
    cut: connection.query<{ snippet: string }, [string, number]>(
      `SELECT snippet(pages, 1, '', '', '…', ${SNIPPET_WORDS}) AS snippet FROM pages
       WHERE pages MATCH ? AND rowid = ?`,
    ),
  };
}
