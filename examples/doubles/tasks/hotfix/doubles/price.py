TAX = 0.16


def gross(net):
    return round(net * (1 + TAX), 2)
