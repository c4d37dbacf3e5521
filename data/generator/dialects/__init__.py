"""Writers of raw rows: a conversation in, a row as the published data set of that name would hold it out.

They know column names, markers and habits of each data set; they do not know how rows are read back.
"""
