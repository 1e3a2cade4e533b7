"""The queue in transactions of psycopg's own.

DATABASE_URL is the database; JOB, TOKEN and POOR_JOB, POOR_TOKEN are held by worker-1; STALE_JOB, STALE_TOKEN were.
"""

import os
from contextlib import contextmanager

import psycopg
from psycopg.types.json import Jsonb


class LeaseLost(Exception):
    """Stop the work. The transaction was rolled back. args[0]: expired, superseded, finished, cancelled, unknown."""


class DedupConflict(Exception):
    """Another body was sent under a key that is remembered. args[0]: the job that holds the key."""


class BadInput(Exception):
    """Mend the call. args: the stable code, and a sentence."""


@contextmanager
def transaction(connection):
    """A transaction of psycopg's, whose refusals are exceptions with names."""
    try:
        with connection.transaction():
            yield
    except psycopg.Error as error:
        diag = error.diag
        if error.sqlstate == "TE020":
            raise LeaseLost(diag.message_detail) from error
        if error.sqlstate == "TE003":
            raise DedupConflict(int(diag.message_detail.split()[1])) from error
        if error.sqlstate == "TE010":
            raise BadInput(diag.message_hint, diag.message_primary) from error
        raise


def env(name):
    return int(os.environ[name])


def main():
    connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    enqueue = "select tenure.enqueue('shipping', 'ship', %s, %s)"

    with transaction(connection):
        connection.execute("insert into orders values (1, 'new')")
        connection.execute(enqueue, [Jsonb({"order": 1}), Jsonb({})])
        raise psycopg.Rollback()
    print("rolled back")

    with transaction(connection):
        connection.execute("insert into orders values (2, 'new')")
        shipping = connection.execute(enqueue, [Jsonb({"order": 2}), Jsonb({"key": "order-2"})]).fetchone()[0]
    print("committed")

    job, token = env("JOB"), env("TOKEN")
    with transaction(connection):
        connection.execute("select tenure.held(%s, 'worker-1', %s)", [job, token])
        connection.execute("update orders set state = 'shipped' where id = 2")
        ended = connection.execute("select tenure.complete(%s, 'worker-1', %s, %s)", [job, token, '"by train"'])
        print("completed:", ended.fetchone()[0])

    with transaction(connection):
        poor = [env("POOR_JOB"), env("POOR_TOKEN"), "out of paper"]
        print("failed:", connection.execute("select tenure.fail(%s, 'worker-1', %s, %s)", poor).fetchone()[0])

    try:
        with transaction(connection):
            connection.execute("insert into orders values (3, 'stale')")
            connection.execute("select tenure.held(%s, 'worker-1', %s)", [env("STALE_JOB"), env("STALE_TOKEN")])
        print("the guard let a stale worker pass")
    except LeaseLost as lost:
        print("stale:", lost)

    try:
        with transaction(connection):
            connection.execute(enqueue, ['{"order":', Jsonb({})])
    except BadInput as bad:
        print("bad input:", bad.args[0])

    try:
        with transaction(connection):
            connection.execute(enqueue, [Jsonb({"order": 7}), Jsonb({"key": "order-2"})])
    except DedupConflict as conflict:
        print("another body:", "the key is the shipping job's" if conflict.args[0] == shipping else conflict)


main()
